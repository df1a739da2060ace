package peer

import (
	"bytes"
	"context"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/weather"
)

// Unary is a go-plugin plugin with one unary gRPC method, whose host validates input and output with jsonschema. Each call has a
// deadline. path is the plugin's binary.
func Unary(path string) Kind {
	return Local("go-plugin, unary gRPC", func() (func() error, func(), error) {
		p, err := bare.Start(path)
		if err != nil {
			return nil, nil, err
		}
		call, err := Checked(weather.InSchema, weather.OutSchema, weather.Input, p.Call)
		return call, p.Close, err
	})
}

// Checked makes a call of a bare plugin's method one whose input and output are validated, and that has a deadline.
func Checked(inSchema, outSchema, input string, method func(context.Context, []byte) ([]byte, error)) (func() error, error) {
	in, err := compile(inSchema)
	if err != nil {
		return nil, err
	}
	out, err := compile(outSchema)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := check(in, []byte(input)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), bare.Limit)
		defer cancel()
		output, err := method(ctx, []byte(input))
		if err != nil {
			return err
		}
		return check(out, output)
	}, nil
}

func compile(text string) (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///schema.json", v); err != nil {
		return nil, err
	}
	return c.Compile("mem:///schema.json")
}

func check(s *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}
