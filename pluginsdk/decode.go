package pluginsdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/internal/plain"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// decode reads the JSON document raw into v, which is a pointer. Empty raw is {}.
// A json.RawMessage keeps the bytes; any and map[string]any keep the spelling of
// numbers. The error names the place.
func decode(raw []byte, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	switch v := v.(type) {
	case *json.RawMessage:
		if err := checkJSON(raw); err != nil {
			return err
		}
		*v = bytes.Clone(raw)
		return nil
	case *any, *map[string]any:
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(v); err != nil {
			return decodeError(raw, err)
		}
		if _, err := dec.Token(); err != io.EOF {
			return errors.New("more than one JSON value")
		}
		return nil
	default:
		return decodeError(raw, json.Unmarshal(raw, v))
	}
}

// checkJSON says what is wrong with a document whose bytes are passed on.
func checkJSON(raw []byte) error {
	if rawjson.Valid(raw) {
		return nil
	}
	var v any
	return decodeError(raw, json.Unmarshal(raw, &v))
}

// decodeError adds to an error of encoding/json where it happened.
func decodeError(raw []byte, err error) error {
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	case errors.As(err, &typ):
		path := pathAt(raw, typ.Offset)
		if !hasStep(path, lastName(typ.Field)) { // an offset within a nested document
			path = "/" + strings.ReplaceAll(typ.Field, ".", "/")
		}
		return fmt.Errorf("at %s: %s does not fit %s", orElse(path, "/"), typ.Value, typ.Type)
	}
	return err
}

func lastName(field string) string {
	return field[strings.LastIndexByte(field, '.')+1:]
}

// hasStep reports whether name is a step of path, as encoding/json matches names.
func hasStep(path, name string) bool {
	return name == "" || slices.ContainsFunc(strings.Split(path, "/"), func(step string) bool {
		return strings.EqualFold(step, jsonpointer.Escape(name))
	})
}

// pathAt returns the JSON Pointer of the value that is being read at offset.
func pathAt(raw []byte, offset int64) string {
	type level struct {
		object  bool
		key     string
		index   int
		wantKey bool
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	next := func() { // a value of the innermost container is complete
		if n := len(stack) - 1; n >= 0 {
			stack[n].index++
			stack[n].wantKey = stack[n].object
		}
	}
	pointer := func() string {
		var b strings.Builder
		for _, l := range stack {
			b.WriteByte('/')
			if l.object {
				b.WriteString(jsonpointer.Escape(l.key))
			} else {
				b.WriteString(strconv.Itoa(l.index))
			}
		}
		return b.String()
	}
	for {
		tok, err := dec.Token()
		if err != nil {
			return pointer()
		}
		n := len(stack) - 1
		if key, ok := tok.(string); ok && n >= 0 && stack[n].wantKey {
			stack[n].key, stack[n].wantKey = key, false
			continue
		}
		if delim, ok := tok.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:n]
			next()
			continue
		}
		if dec.InputOffset() >= offset {
			return pointer()
		}
		if delim, ok := tok.(json.Delim); ok {
			stack = append(stack, level{object: delim == '{', wantKey: delim == '{'})
			continue
		}
		next()
	}
}

// encode writes v without HTML escapes and without a final newline.
func encode(v any) ([]byte, error) {
	if text, ok := v.(string); ok {
		if quoted, ok := plain.Quote(text); ok { // at a fraction of the cost: it may be a whole file
			return quoted, nil
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
