package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/weather"
)

// wholeProcess compares toolhost call, from its start to its end, with a bare program that starts the bare plugin, calls it once and
// ends it. The bare program validates nothing.
func wholeProcess(o *options) ([]report.Row, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	took, err := measure.InTurn(o.pick(41, 11),
		func() (time.Duration, error) {
			return answered(o.program("barecall"), o.program("bareplugin"), weather.Input)
		},
		func() (time.Duration, error) {
			return answered(filepath.Join(o.bin, "..", "toolhost"), "--config", config, "--state", filepath.Join(o.state, "command"), "call", "weather", weather.Input)
		})
	if err != nil {
		return nil, err
	}
	return []report.Row{{Group: "A call as a whole process", Name: "toolhost call, warm", Value: ms(measure.Median(took[1])), Unit: "ms",
		Than: "bare program and plugin", Other: ms(measure.Median(took[0]))}}, nil
}

// answered runs a command and holds that it prints the forecast.
func answered(name string, args ...string) (time.Duration, error) {
	begun := time.Now()
	out, err := exec.Command(name, args...).Output()
	took := time.Since(begun)
	if err == nil && !bytes.Contains(out, []byte(`"sunny"`)) {
		err = fmt.Errorf("it printed %q", out)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return took, nil
}
