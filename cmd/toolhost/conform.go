package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
)

// exam is how doctor checks a binary.
type exam struct {
	inputs []string
	unsafe bool
	only   []string
}

func (e *exam) define(flags *pflag.FlagSet) {
	flags.StringArrayVar(&e.inputs, "input", nil, "call a tool with an input: `TOOL=JSON` (repeatable)")
	flags.BoolVar(&e.unsafe, "unsafe", false, "call every tool, also those that may change something or reach an open world")
	flags.StringArrayVar(&e.only, "check", nil, "make only the check `NAME` (repeatable): "+strings.Join(conform.Names(), ", "))
}

// any reports whether a flag was given.
func (e *exam) any() bool { return e.unsafe || len(e.inputs)+len(e.only) > 0 }

// calls reads the inputs.
func (e *exam) calls() (list []conform.Call, err error) {
	for _, text := range e.inputs {
		tool, input, ok := strings.Cut(text, "=")
		if !ok || tool == "" || !json.Valid([]byte(input)) {
			return nil, usagef("doctor: --input %q: want TOOL=JSON, such as weather={\"location\":\"Berlin\"}", text)
		}
		list = append(list, conform.Call{Tool: tool, Input: json.RawMessage(input)})
	}
	return list, nil
}

// conform checks one plugin and prints what was seen.
func (a *app) conform(ctx context.Context, path string, e exam) error {
	calls, err := e.calls()
	if err != nil {
		return err
	}
	for _, name := range e.only {
		if !slices.Contains(conform.Names(), name) {
			return usagef("doctor: no check is named %q; the checks are %s", name, strings.Join(conform.Names(), ", "))
		}
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return usagef("doctor: %s: %s", path, whyNoFile(err))
	}
	plugin, limits, err := a.configuredPlugin(path)
	if err != nil {
		return err
	}
	report, err := conform.Run(ctx, conform.Config{
		Path: path, Args: plugin.Args, Env: plugin.Env, Settings: plugin.Settings, Sandbox: plugin.Sandbox, Limits: limits,
		Calls: calls, Unsafe: e.unsafe, Only: e.only,
	})
	if err != nil {
		return err
	}
	count := report.Failures()
	if a.json {
		err = writeJSON(a.out, struct {
			OK bool `json:"ok"`
			*conform.Report
		}{count == 0, report})
	} else {
		err = report.Print(a.out)
	}
	if err == nil && count > 0 {
		err = &brokenError{count}
	}
	return err
}

// configuredPlugin returns what the configuration says of the plugin at path; nothing, if it does not name it. A directory that
// is not there is no matter here.
func (a *app) configuredPlugin(path string) (plugin host.Plugin, limits host.Limits, err error) {
	p, err := a.places()
	if err != nil {
		return plugin, limits, err
	}
	cfg, err := a.hostConfig(p)
	if err != nil {
		return plugin, limits, err
	}
	for _, c := range cfg.Plugins {
		if sameProgram(c.Path, path) {
			return c, c.Limits, nil
		}
	}
	return plugin, limits, nil
}

// sameProgram reports whether two paths name one file.
func sameProgram(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func whyNoFile(err error) string {
	if err == nil {
		return "it is a directory"
	}
	if os.IsNotExist(err) {
		return "no such file"
	}
	return err.Error()
}
