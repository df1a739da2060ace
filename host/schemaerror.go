package host

import (
	"errors"
	"slices"

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

// unquoted is e without what it quotes of the value.
func (e *SchemaError) unquoted() *SchemaError {
	out := &SchemaError{Violations: slices.Clone(e.Violations), More: e.More}
	for i := range out.Violations {
		switch v := &out.Violations[i]; v.Keyword {
		case "required", "dependentRequired", "dependencies": // what is not there cannot be quoted
		case "json":
			v.Message = "the text is not valid JSON"
		default:
			at := "the value"
			if v.Path != "" {
				at = "at " + v.Path
			}
			v.Got, v.Message = "***", at+": expected "+v.Expected+", got ***"
		}
	}
	return out
}
