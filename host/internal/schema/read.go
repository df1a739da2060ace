package schema

import (
	"errors"
	"slices"
	"strings"
)

// The kinds of repair: a closed list. What each mends is said at Read.
const (
	RepairText          = "text"
	RepairWholeArgument = "whole-argument"
	RepairStringified   = "stringified"
	RepairNull          = "null"
	RepairNumber        = "number"
	RepairBoolean       = "boolean"
	RepairAlias         = "alias"
)

// keywordDuplicate stands in the violation of a name that comes more than once, which no keyword of JSON Schema forbids.
const keywordDuplicate = "duplicate"

// What stands for no input at all.
const (
	emptyObject = "{}"
	emptyArray  = "[]"
)

// ReadOptions say what a tool wants of Read. The zero value is right for most.
type ReadOptions struct {
	Off    []string // repair kinds that are not made; unknown ones have no effect
	Alias  bool     // the alias repair may be made (V-12): only for tools named agent-*
	Strict bool     // names that come more than once are refused (T5)
}

// Repair says that a value was repaired. It quotes nothing of it.
type Repair struct {
	Path string `json:"path"` // JSON Pointer as a violation has it: at most 512 bytes, names within sensitive values masked
	Kind string `json:"kind"` // text, whole-argument, stringified, null, number, boolean or alias
}

// Read parses an input, fills its defaults and checks it, and repairs what keeps it from being valid. A valid input is
// neither changed nor slowed down. Each repair is reported, in the order it was made, also beside an error.
//
//   - text: the text is not JSON, but close to it; see mend. Reported once for a text.
//   - whole-argument: the root is a string that holds an object.
//   - stringified: a string that holds an object or an array, where the schema wants one and no string; at most two layers
//     of string on the way from the root, whether around one value or one within the other. The text repair applies inside.
//   - null: a null that breaks the schema, as a member. It is taken for absent: the default stands in its place if the
//     property has one that is filled; an optional property, a forbidden one and a map entry go. A null root becomes {}, or [] (V-7).
//   - number, boolean: a string that is exactly a JSON number, or "true" or "false", where a "type" says so and admits no string.
//   - alias: prompt, required and absent, is copied from the first string of query, message and input that the schema
//     does not declare.
//
// Repairs work at any depth and through $ref, allOf, then and else, dependent schemas, items and map values. In a union they
// follow the branch that its discriminator picks, else the only one that a repair satisfies; two of those mean no repair.
// They compose: one may make way for the next. What is not on the list is not repaired.
//
// An empty text is {} (b21), or [] where the schema admits arrays and no objects. A nil Schema admits every value; only the text is repaired.
//
// The bytes of the document are the text's own, except for repaired values and the defaults, which are appended in the
// schema's order.
//
// Errors: *SyntaxError and *LimitError, for which there is no document and which quote nothing of the text if the schema has
// sensitive fields; with a document: *Error, for the furthest attempt (b17), *LimitError, *PanicError.
func (s *Schema) Read(text []byte, lim Limits, opt ReadOptions) (*Document, []Repair, error) {
	return s.ReadInto(new(Document), text, lim, opt)
}

// ReadInto is Read that may use a zero document of the caller's for the one that it returns.
func (s *Schema) ReadInto(room *Document, text []byte, lim Limits, opt ReadOptions) (*Document, []Repair, error) {
	if !s.Sensitive() { // of such a document the values are needed
		if found := s.skim(text, lim, true); found.valid {
			*room = Document{text: text, values: found.values, undecoded: true}
			return room, nil, nil
		}
	}
	d, err := Parse(text, lim)
	var done []Repair
	if err != nil {
		if d, done, err = s.readBroken(text, lim, opt, err); err != nil {
			return nil, nil, s.discreet(err)
		}
	}
	if opt.Strict && d.dups {
		return d, done, s.duplicated(d)
	}
	if s == nil {
		return d, done, nil
	}
	s.FillDefaults(d)
	if ok, err := s.holds(d); ok || err != nil {
		return d, done, err
	}
	repaired, err := s.repair(d, lim, opt)
	return d, append(done, repaired...), err
}

// readBroken reads a text that is no JSON because of err.
func (s *Schema) readBroken(text []byte, lim Limits, opt ReadOptions, err error) (*Document, []Repair, error) {
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		return nil, nil, err
	}
	if len(strings.Trim(string(text), " \t\r\n")) == 0 {
		return s.readEmpty(lim, err)
	}
	if syntax.Expected == expectUTF8 || slices.Contains(opt.Off, RepairText) {
		return nil, nil, err
	}
	mended, err := mend(string(text), lim)
	if err != nil {
		return nil, nil, err
	}
	d, err := Parse(mended, lim)
	if err != nil {
		return nil, nil, unplaced(err)
	}
	return d, []Repair{{Kind: RepairText}}, nil
}

// readEmpty reads a text with nothing in it.
func (s *Schema) readEmpty(lim Limits, err error) (*Document, []Repair, error) {
	empty := emptyObject
	if s != nil {
		switch admits := s.root.admits; {
		case admits&typeObject != 0:
		case admits&typeArray != 0:
			empty = emptyArray
		default:
			return nil, nil, err
		}
	}
	d, err := Parse([]byte(empty), lim)
	return d, nil, err
}

// unplaced takes the position off an error about a mended text, which nobody has seen.
func unplaced(err error) error {
	var limit *LimitError
	if !errors.As(err, &limit) {
		return err
	}
	return &LimitError{What: limit.What, Max: limit.Max, Path: limit.Path}
}

// discreet takes out of an error about a text that cannot be parsed what it quotes, if the schema has sensitive fields:
// nobody knows where in such a text they are (b15).
func (s *Schema) discreet(err error) error {
	if !s.Sensitive() {
		return err
	}
	switch e := err.(type) {
	case *SyntaxError:
		hidden := *e
		if e.Got != gotEnd {
			hidden.Got = "something else"
		}
		return &hidden
	case *LimitError:
		hidden := *e
		hidden.Path = ""
		return &hidden
	}
	return err
}

// duplicated is the error of a document that has names more than once.
func (s *Schema) duplicated(d *Document) error {
	var found []string
	d.edits.duplicates(nil, s.masks(d), &found)
	return duplicated(found)
}

func duplicated(pointers []string) error {
	slices.Sort(pointers)
	w := walker{max: maxViolations}
	for _, p := range slices.Compact(pointers) {
		w.add(Violation{Path: p, Keyword: keywordDuplicate, Expected: "each name once in an object",
			Got: "the name more than once", Message: p + ": the name comes more than once"})
	}
	return &Error{Violations: w.found, More: w.more}
}

// masks are the secrets that an error about the document must not show; nil if there are none.
func (s *Schema) masks(d *Document) *edit {
	if !s.Sensitive() {
		return nil
	}
	return s.secrets(d, true)
}
