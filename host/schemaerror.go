package host

import (
	"errors"

	"github.com/toolhost/toolhost/host/internal/schema"
)

// schemaError converts what the schema package says of a text or a value. An OutputError and a panic stay
// what they are.
func schemaError(err error) error {
	switch err.(type) {
	case *OutputError, *schema.PanicError:
		return err
	}
	if e, ok := errors.AsType[*schema.Error](err); ok {
		out := &SchemaError{More: e.More}
		for _, v := range e.Violations {
			if v.Path != "" {
				v.Message = "at " + v.Message
			}
			out.Violations = append(out.Violations, Violation(v))
		}
		return out
	}
	return &SchemaError{Violations: []Violation{{Keyword: "json", Message: err.Error()}}}
}

// notAnObject is the error of a value that is no object where only an object will do.
func notAnObject(doc *schema.Document) error {
	open, err := schema.Compile(openObject)
	if err == nil {
		err = open.Validate(doc)
	}
	return err
}
