package peer

import (
	"github.com/toolhost/toolhost/bench/weather"
)

// InProcess is the tool as a Go function of this process, on JSON, with the validation of [Unary].
func InProcess() Kind {
	return Kind{"a function in process", func() (Peer, error) {
		in, err := compile(weather.InSchema)
		if err != nil {
			return nil, err
		}
		out, err := compile(weather.OutSchema)
		if err != nil {
			return nil, err
		}
		input := []byte(weather.Input)
		return &local{func() error {
			if err := check(in, input); err != nil {
				return err
			}
			output, err := weather.ForecastJSON(input)
			if err != nil {
				return err
			}
			return check(out, output)
		}, func() {}}, nil
	}}
}
