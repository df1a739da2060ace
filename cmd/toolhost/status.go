package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

// pluginFile is what a look at a plugin's file says, without running it.
type pluginFile struct {
	Name   string     `json:"name"`
	State  string     `json:"state"` // "discovered" or "refused"
	Path   string     `json:"path"`
	From   string     `json:"from"` // "directory" or "configuration"
	Error  string     `json:"error,omitempty"`
	SHA256 string     `json:"sha256,omitempty"`
	Size   int64      `json:"size,omitempty"`
	Build  *buildInfo `json:"build,omitempty"` // nil if it is no Go program
}

// buildInfo is what a Go program says of its making.
type buildInfo struct {
	Go      string `json:"go"`
	Module  string `json:"module"`
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
}

const stateRefused = "refused"

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the plugins, and why one is refused; starts nothing",
		Args:  wants(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			p, err := a.places()
			if err != nil {
				return err
			}
			cfg, err := a.hostConfig(p)
			if err != nil {
				return err
			}
			plugins, others := findPlugins(cfg)
			if a.json {
				return writeJSON(a.out, struct {
					Plugins []pluginFile `json:"plugins"`
					State   string       `json:"stateDir"`
				}{plugins, p.state})
			}
			for _, err := range others {
				a.warn("%v", err)
			}
			return a.status(plugins)
		},
	}
}

func (a *app) status(plugins []pluginFile) error {
	if len(plugins) == 0 {
		a.warn("no plugins; see toolhost doctor for where they are searched")
		return nil
	}
	var rows [][]string
	for _, p := range plugins {
		version, hash := "", p.SHA256
		if p.Build != nil {
			version = p.Build.Version
		}
		if len(hash) > 12 {
			hash = hash[:12]
		}
		what := p.Path
		if p.Error != "" {
			what += ": " + p.Error
		}
		rows = append(rows, []string{p.Name, p.State, version, hash, what})
	}
	return writeTable(a.out, []string{"NAME", "STATE", "VERSION", "SHA-256", "PATH"}, rows)
}

// findPlugins looks at every plugin of cfg, by name, and starts none. others are errors that belong to no
// plugin.
func findPlugins(cfg host.Config) (plugins []pluginFile, others []error) {
	plugins = []pluginFile{}
	named := map[string]bool{}
	for _, p := range cfg.Plugins {
		named[p.Name] = true
		plugins = append(plugins, inspect(p, "configuration"))
	}
	found, err := host.Discover(cfg.Dirs...)
	for _, p := range found {
		if !named[p.Name] {
			plugins = append(plugins, inspect(p, "directory"))
		}
	}
	for _, err := range flatten(err) {
		skip, ok := errors.AsType[*host.SkipError](err)
		if !ok {
			others = append(others, err)
			continue
		}
		plugins = append(plugins, pluginFile{
			Name: host.PluginName(skip.Path), State: stateRefused, Path: skip.Path, From: "directory", Error: skip.Err.Error(),
		})
	}
	slices.SortStableFunc(plugins, func(a, b pluginFile) int { return strings.Compare(a.Name, b.Name) })
	return plugins, others
}

// flatten takes an errors.Join apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// inspect says what the file is, and whether the host would start it.
func inspect(p host.Plugin, from string) pluginFile {
	out := pluginFile{Name: p.Name, State: string(host.Discovered), Path: p.Path, From: from}
	if err := host.Check(p); err != nil {
		out.State = stateRefused
		out.Error = strings.TrimLeft(strings.TrimPrefix(err.Error(), p.Path), ": ") // the path is shown beside it
	}
	info, err := os.Stat(p.Path)
	if err != nil || !info.Mode().IsRegular() {
		return out
	}
	out.Size = info.Size()
	if hash, err := hashFile(p.Path); err == nil { // it may be executed and not read
		out.SHA256 = hash
	}
	if build, err := buildinfo.ReadFile(p.Path); err == nil {
		out.Build = &buildInfo{Go: build.GoVersion, Module: build.Main.Path, Version: build.Main.Version}
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				out.Build.Commit = s.Value
			}
		}
	}
	return out
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
