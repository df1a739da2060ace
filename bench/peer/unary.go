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
	return Kind{"go-plugin, unary gRPC", func() (Peer, error) {
		in, err := compile(weather.InSchema)
		if err != nil {
			return nil, err
		}
		out, err := compile(weather.OutSchema)
		if err != nil {
			return nil, err
		}
		p, err := bare.Start(path)
		if err != nil {
			return nil, err
		}
		input := []byte(weather.Input)
		return &local{func() error {
			if err := check(in, input); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), bare.Limit)
			defer cancel()
			output, err := p.Call(ctx, input)
			if err != nil {
				return err
			}
			return check(out, output)
		}, p.Close}, nil
	}}
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
