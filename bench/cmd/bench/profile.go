package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/profile"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/host"
)

// profiles says where the CPU of a validated call goes, in both processes, while 64 are in flight. The profiles stay in
// bin/profile.
func profiles(o *options) ([]report.Row, error) {
	dir := filepath.Join(o.bin, "..", "profile")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files := map[string]string{"host": filepath.Join(dir, "host.pprof"), "plugin": filepath.Join(dir, "plugin.pprof")}
	calls, err := profiled(o, files["host"], files["plugin"])
	if err != nil {
		return nil, err
	}
	spent := map[string]map[string]time.Duration{}
	var whole time.Duration
	for _, process := range []string{"host", "plugin"} {
		if spent[process], err = profile.Read(files[process]); err != nil {
			return nil, err
		}
		for _, d := range spent[process] {
			whole += d
		}
	}
	a := func(d time.Duration) float64 { return us(d) / float64(calls) }
	var rows []report.Row
	for _, process := range []string{"host", "plugin"} {
		for _, kind := range profile.Kinds {
			if d := spent[process][kind]; d > 0 {
				rows = append(rows, report.Row{Group: "Where the CPU of a validated call goes, 64 in flight, by profiles", Name: process + ": " + kind, Value: a(d), Unit: "µs", Than: "the whole call", Other: a(whole)})
			}
		}
	}
	return rows, nil
}

// profiled makes calls with both processes profiled, and says how many.
func profiled(o *options, hostFile, pluginFile string) (int, error) {
	h, err := host.Open(context.Background(), host.Config{
		StateDir: o.state, Eager: true,
		Plugins: []host.Plugin{{Name: "weather", Path: o.program("toolplugin-weather"), Env: []string{"BENCH_PROFILE=" + pluginFile}, Sandbox: host.Sandbox{Profile: host.ProfileNone}}},
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = h.Close() }()
	f, err := os.Create(hostFile)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, err
	}
	times, err := measure.Load(64, time.Duration(o.pick(6000, 1500))*time.Millisecond, func() error {
		_, err := h.Call(context.Background(), host.Call{Tool: "weather", Input: json.RawMessage(weather.Input)})
		return err
	})
	pprof.StopCPUProfile()
	if err != nil {
		return 0, err
	}
	return len(times.Each), h.Close() // the plugin writes its profile at its end
}
