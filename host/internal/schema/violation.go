package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of what is said of one document (T6).
const (
	maxViolations = 100
	maxErrorText  = 16 << 10
	maxQuote      = 100
	maxExpected   = 300
)

// Violation is one way in which a document breaks its schema. No text of it quotes more than 100 characters of a value,
// and none at all of one that the schema calls sensitive (b15).
type Violation struct {
	Path     string `json:"path"`     // JSON Pointer, at most 512 bytes; a missing or an extra property is named by its own
	Keyword  string `json:"keyword"`  // of JSON Schema; "false" for a schema that admits nothing
	Expected string `json:"expected"` // such as "integer <= 16"
	Got      string `json:"got"`      // such as "99", "nothing", "***"
	Message  string `json:"message"`  // all of it in one line: "/days: expected integer <= 16, got 99"
}

// Error lists the violations, at most 100 and about 16 KiB of text.
type Error struct {
	Violations []Violation
	More       int // how many more there are, at least; 0 if these are all
}

// Error has one line for each violation.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Violations)+1)
	for _, v := range e.Violations {
		lines = append(lines, v.Message)
	}
	if e.More > 0 {
		lines = append(lines, "and more")
	}
	return strings.Join(lines, "\n")
}

// fault is what a check found, before it is put into words.
type fault struct {
	keyword     string
	count, want int
	pair        [2]int
	text        string
	types       typeSet
	values      []any
	pattern     *pattern
	costly      bool
	inner       []Violation
}

// fail records a violation at the trail's place, if they are gathered. It returns false.
func (w *walker) fail(n *node, v any, f fault) bool {
	if w.report && w.spend(violationSteps) {
		w.add(w.violation(n, v, f))
	}
	return false
}

func (w *walker) add(v Violation) {
	size := len(v.Path) + len(v.Keyword) + len(v.Expected) + len(v.Got) + len(v.Message)
	if len(w.found) >= w.max || len(w.found) > 0 && w.size+size > maxErrorText {
		w.more++
		return
	}
	w.size += size
	w.found = append(w.found, v)
}

func (w *walker) violation(n *node, v any, f fault) Violation {
	path, secret := w.place()
	q := quoter{secret: secret}
	expected, got := q.words(n, v, f)
	out := Violation{Path: path, Keyword: f.keyword, Expected: cut(expected, maxExpected), Got: got}
	at := path
	if at == "" {
		at = "the value"
	}
	switch f.keyword {
	case "required", "dependentRequired", "dependencies":
		out.Message = at + ": missing required property"
		if f.text != "" {
			out.Message += ", as " + q.text(f.text) + " is there"
		}
		if f.values != nil {
			out.Message += ", expected " + out.Expected
		}
	case "additionalProperties", "unevaluatedProperties":
		out.Message = at + ": unexpected property"
		if len(n.order) > 0 {
			out.Message += ", expected " + out.Expected
		}
	case "anyOf":
		out.Message = fmt.Sprintf("%s: matches none of %d alternatives", at, f.count)
	case "oneOf":
		out.Message = at + ": matches " + got + ", " + expected
		if f.count > 0 {
			out.Message = fmt.Sprintf("%s: matches none of %d alternatives", at, f.count)
		}
	default:
		out.Message = at + ": expected " + out.Expected + ", got " + got
		if f.costly {
			out.Message = at + ": too long for a pattern check, got " + got
		}
	}
	return out
}

// place is the trail's JSON Pointer and whether the value there is sensitive.
func (w *walker) place() (path string, secret bool) { return w.trail.shown(w.secrets) }

// quoter puts values into words.
type quoter struct{ secret bool }

// words are what a keyword expects and what it got.
func (q quoter) words(n *node, v any, f fault) (expected, got string) {
	got = q.value(v)
	switch f.keyword {
	case "false":
		return "nothing here", got
	case "type":
		types := f.types
		if n.types != 0 && types == 0 {
			types = n.types
		}
		return types.String(), q.typed(v)
	case "const":
		return quoteValue(n.konst.values[0], maxQuote), got
	case "enum":
		values := f.values
		if values == nil {
			values = n.enum.values
		}
		return oneOf(values), got
	case "format":
		return "string in format " + n.s.Format.Name, got
	case "pattern":
		return "string matching " + cut(f.pattern.text, maxQuote), got
	case "not":
		return "a value that the schema does not exclude", got
	case "propertyNames":
		if len(f.inner) > 0 {
			return "a property name that is " + f.inner[0].Expected, got
		}
		return "another property name", got
	case "anyOf", "oneOf":
		if f.count > 0 {
			return fmt.Sprintf("one of %d alternatives", f.count), got
		}
		return "exactly one", fmt.Sprintf("alternatives %d and %d", f.pair[0]+1, f.pair[1]+1)
	case "required", "dependentRequired", "dependencies":
		if f.values != nil {
			return oneOf(f.values), "nothing"
		}
		if f.types != 0 && f.types != typeAny {
			return f.types.String(), "nothing"
		}
		return "a value", "nothing"
	case "additionalProperties", "unevaluatedProperties":
		if len(n.order) == 0 {
			return "no other property", got
		}
		return "one of " + cut(strings.Join(n.order, ", "), maxExpected-10), got
	}
	return q.sized(n, v, f, got)
}

// sized words the keywords that compare a number, a length or a count.
func (q quoter) sized(n *node, v any, f fault, got string) (string, string) {
	s := n.s
	switch f.keyword {
	case "minimum":
		return n.numberName() + " >= " + n.min.String(), got
	case "maximum":
		return n.numberName() + " <= " + n.max.String(), got
	case "exclusiveMinimum":
		return n.numberName() + " > " + n.exMin.String(), got
	case "exclusiveMaximum":
		return n.numberName() + " < " + n.exMax.String(), got
	case "multipleOf":
		return "multiple of " + s.MultipleOf.RatString(), got
	case "minLength":
		return fmt.Sprintf("string of at least %s", plural(*s.MinLength, "character")), q.counted(got, f.count, "character")
	case "maxLength":
		return fmt.Sprintf("string of at most %s", plural(*s.MaxLength, "character")), q.counted(got, f.count, "character")
	case "minProperties":
		return fmt.Sprintf("object with at least %d properties", *s.MinProperties), got
	case "maxProperties":
		return fmt.Sprintf("object with at most %d properties", *s.MaxProperties), got
	case "minItems":
		return fmt.Sprintf("array of at least %s", plural(*s.MinItems, "item")), got
	case "maxItems":
		return fmt.Sprintf("array of at most %s", plural(*s.MaxItems, "item")), got
	case "uniqueItems":
		return "array of different items", fmt.Sprintf("the same at %d and %d", f.pair[0], f.pair[1])
	case "contains":
		return fmt.Sprintf("array with at least %s that match its contains schema", plural(f.want, "item")), fmt.Sprint(f.count)
	case "maxContains":
		return fmt.Sprintf("array with at most %s that match its contains schema", plural(f.want, "item")), fmt.Sprint(f.count)
	}
	return "a valid value", got
}

// value quotes a value: scalars as JSON, objects and arrays by their size.
func (q quoter) value(v any) string {
	if q.secret {
		return mask
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			return "object with 1 property"
		}
		return fmt.Sprintf("object with %d properties", len(v))
	case []any:
		return "array of " + plural(len(v), "item")
	}
	return quoteValue(v, maxQuote)
}

// typed quotes a value with its type's name, which is no secret.
func (q quoter) typed(v any) string {
	t := typeOf(v)
	switch {
	case t&(typeObject|typeArray|typeNull) != 0:
		return t.String()
	case q.secret:
		return t.String() + " " + mask
	}
	return t.String() + " " + quoteValue(v, maxQuote)
}

// text quotes a member's name.
func (q quoter) text(s string) string {
	if q.secret {
		return mask
	}
	return quoteText(s)
}

// counted adds the count, which is hidden with the value.
func (q quoter) counted(got string, count int, noun string) string {
	if q.secret {
		return got
	}
	return got + " of " + plural(count, noun)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// numberName is integer or number.
func (n *node) numberName() string {
	if n.types&(typeInteger|typeNumber) == typeInteger {
		return "integer"
	}
	return "number"
}

// String lists the types: "string or null".
func (t typeSet) String() string {
	var names []string
	for _, name := range []string{"object", "array", "string", "number", "integer", "boolean", "null"} {
		if t&typeNames[name] != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, " or ")
}

// oneOf lists values: "one of \"c\", \"f\"".
func oneOf(values []any) string {
	if len(values) == 1 {
		return quoteValue(values[0], maxQuote)
	}
	var b strings.Builder
	b.WriteString("one of ")
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > maxExpected {
			break
		}
		b.WriteString(quoteValue(v, maxQuote))
	}
	return b.String()
}

// quoteValue writes a value as JSON, cut to n bytes.
func quoteValue(v any, n int) string {
	switch v := v.(type) {
	case string:
		return string(appendString(nil, cut(v, n)))
	case json.Number:
		return cut(string(v), n)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?" // cannot happen for decoded JSON
	}
	return cut(string(text), n)
}
