package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/host"
)

const startGroup = "Start to first answer"

// bareName is the yardstick of processes.
const bareName = "bare go-plugin gRPC"

// starts compares the start of plugins up to their first answers: one in each sandbox, and many at the same time.
func starts(o *options) ([]report.Row, error) {
	one, err := startOne(o)
	if err != nil {
		return nil, err
	}
	many, err := startMany(o)
	return append(one, many...), err
}

func startOne(o *options) ([]report.Row, error) {
	profiles := []host.Profile{host.ProfileNone, host.ProfileDefault, host.ProfileStrict}
	each := []func() (time.Duration, error){func() (time.Duration, error) { return startBare(o, 1) }}
	for _, p := range profiles {
		each = append(each, func() (time.Duration, error) { return startHost(o, 1, p) })
	}
	took, err := measure.InTurn(o.pick(41, 9), each...)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for i, p := range profiles {
		row := report.Row{Group: startGroup, Name: fmt.Sprintf("one plugin, sandbox %s", p), Value: ms(measure.Median(took[i+1])), Unit: "ms", Than: bareName, Other: ms(measure.Median(took[0]))}
		if p == host.ProfileNone {
			row.Target = report.AtMost(1.8, 1.4)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func startMany(o *options) ([]report.Row, error) {
	var rows []report.Row
	for _, n := range []int{10, 50} {
		took, err := measure.InTurn(o.pick(9, 3),
			func() (time.Duration, error) { return startBare(o, n) },
			func() (time.Duration, error) { return startHost(o, n, host.ProfileNone) })
		if err != nil {
			return nil, err
		}
		row := report.Row{Group: startGroup, Name: fmt.Sprintf("%d plugins in parallel", n), Value: ms(measure.Median(took[1])), Unit: "ms", Than: fmt.Sprintf("%d %s", n, bareName), Other: ms(measure.Median(took[0]))}
		if n == 50 {
			row.Target = report.AtMost(1.5, 0)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// startBare starts n bare plugins and calls each once, as many at the same time as there are cores, as a host does it.
func startBare(o *options, n int) (time.Duration, error) {
	running := make([]*bare.Running, n)
	defer func() {
		for _, r := range running {
			if r != nil {
				r.Close()
			}
		}
	}()
	turn := make(chan struct{}, runtime.NumCPU())
	return atOnce(n, func(i int) (err error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		if running[i], err = bare.Start(o.program("bareplugin")); err != nil {
			return err
		}
		_, err = running[i].Call(context.Background(), []byte(weather.Input))
		return err
	})
}

// startHost opens a host of n plugins and calls each once. How many start at the same time is the host's business: it is the number of
// cores. The state directory is warm: the manifests are known and the programs have been verified.
func startHost(o *options, n int, p host.Profile) (time.Duration, error) {
	var h *host.Host
	defer func() {
		if h != nil {
			_ = h.Close()
		}
	}()
	cfg := o.hostOf(n, p)
	begun := time.Now()
	var err error
	if h, err = host.Open(context.Background(), cfg); err != nil {
		return 0, err
	}
	if _, err = atOnce(n, func(i int) error { return ask(h, i) }); err != nil {
		return 0, err
	}
	return time.Since(begun), nil
}

// hostOf configures a host of n plugins that have the weather tool.
func (o *options) hostOf(n int, p host.Profile) host.Config {
	cfg := host.Config{StateDir: o.state, SandboxHelper: filepath.Join(o.bin, "..", "toolhost-sandbox")}
	for i := range n {
		cfg.Plugins = append(cfg.Plugins, host.Plugin{Name: pluginName(i), Path: o.program("toolplugin-weather"), Sandbox: host.Sandbox{Profile: p}})
	}
	return cfg
}

func pluginName(i int) string { return fmt.Sprintf("weather-%03d", i) }

// ask calls the tool of one plugin of [options.hostOf].
func ask(h *host.Host, i int) error {
	_, err := h.Call(context.Background(), host.Call{Tool: pluginName(i) + "/weather", Input: json.RawMessage(weather.Input)})
	return err
}

// atOnce runs n of them side by side, and says how long it took until all were done, or one error.
func atOnce(n int, f func(i int) error) (time.Duration, error) {
	var group sync.WaitGroup
	errs := make(chan error, n)
	begun := time.Now()
	for i := range n {
		group.Go(func() { // ends with f
			if err := f(i); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	took := time.Since(begun)
	close(errs)
	return took, <-errs
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
