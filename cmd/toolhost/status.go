package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

// pluginFile is what is known of a plugin without starting it: by a look at its file, and from before.
type pluginFile struct {
	Name   string     `json:"name"`
	State  string     `json:"state"` // "refused", or what the host says: "discovered", "described" or "quarantined"
	Path   string     `json:"path"`
	From   string     `json:"from"` // "directory" or "configuration"
	Error  string     `json:"error,omitempty"`
	SHA256 string     `json:"sha256,omitempty"`
	Size   int64      `json:"size,omitempty"`
	Build  *buildInfo `json:"build,omitempty"` // nil if it is no Go program

	Server     *serverInfo      `json:"server,omitempty"`     // that it imports; nil: none
	Manifest   *manifestInfo    `json:"manifest,omitempty"`   // nil: it is not known what tools it has
	Quarantine *host.Quarantine `json:"quarantine,omitempty"` // why it is not started
	Lock       string           `json:"lock,omitempty"`       // "ok", "differs" or "missing"; empty: there is no lock file
}

// manifestInfo is what a plugin said of itself.
type manifestInfo struct {
	Hash    string        `json:"hash"`
	Since   time.Time     `json:"knownSince,omitzero"` // of one that is dynamic: what is listed was so then
	Dynamic bool          `json:"dynamic"`
	Tools   []string      `json:"tools"`
	Held    []string      `json:"held"`    // tools that wait for toolhost lint --accept
	Changes []host.Change `json:"changes"` // since it was accepted or first seen
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
		Short: "Show the plugins, why one is refused, and the hosts that run; starts nothing",
		Long: `Show the plugins: their files, what is known of their tools and since when, what is
in quarantine and why, and how they stand to the lock file. Then the hosts of this
user that run, and their plugins. Nothing is started.`,
		Args: wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.places()
			if err != nil {
				return err
			}
			cfg, err := a.hostConfig(p)
			if err != nil {
				return err
			}
			report, err := a.statusReport(cmd.Context(), p, cfg)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, report)
			}
			return a.status(report)
		},
	}
}

// statusReport is what status shows.
type statusReport struct {
	Plugins []pluginFile    `json:"plugins"`
	State   string          `json:"stateDir"`
	Lock    string          `json:"lock,omitempty"` // the lock file, if there is one
	Hosts   []host.LiveHost `json:"hosts"`
}

func (a *app) statusReport(ctx context.Context, p places, cfg host.Config) (statusReport, error) {
	plugins, others := findPlugins(cfg)
	for _, err := range others {
		a.warn("%v", err)
	}
	r := statusReport{Plugins: plugins, State: p.state}
	if cfg.Lock != nil {
		r.Lock = p.lock
	}
	dirs, err := host.OpenStateDir(p.state)
	if err != nil {
		return r, err
	}
	if r.Hosts, err = dirs.Hosts(); err != nil {
		a.warn("%v", err)
	}
	quarantines, err := dirs.Quarantines()
	if err != nil {
		a.warn("%v", err)
	}
	cfg.Eager, cfg.Logger = false, nil // what would be logged is in the report
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer a.closeHost(h)
	for i := range r.Plugins {
		f := &r.Plugins[i]
		f.Server = a.serverOf(f.Name)
		if s, ok := findPlugin(h, f.Name); ok && f.State != stateRefused {
			f.State, f.Manifest = string(s.State), manifestOf(s)
		}
		if at := slices.IndexFunc(quarantines, func(q host.Quarantine) bool { return q.Plugin == f.Name }); at >= 0 && f.State == string(host.Quarantined) {
			f.Quarantine = &quarantines[at]
		}
		if cfg.Lock != nil {
			f.Lock = lockState(cfg.Lock, f.Name, f.SHA256)
		}
	}
	return r, nil
}

func manifestOf(s host.PluginStatus) *manifestInfo {
	if s.Manifest == "" {
		return nil
	}
	m := &manifestInfo{Hash: s.Manifest, Since: s.Known, Dynamic: s.Dynamic, Tools: []string{}, Held: []string{}, Changes: []host.Change{}}
	m.Tools, m.Changes = append(m.Tools, s.Tools...), append(m.Changes, s.Changes...)
	for _, f := range s.Findings {
		if f.Held {
			m.Held = append(m.Held, f.Tool)
		}
	}
	for _, c := range s.Changes {
		if c.Held && !slices.Contains(m.Held, c.Tool) {
			m.Held = append(m.Held, c.Tool)
		}
	}
	return m
}

func lockState(lock map[string]string, name, hash string) string {
	switch want, ok := lock[name]; {
	case !ok:
		return "missing"
	case !strings.EqualFold(want, hash):
		return "differs"
	}
	return "ok"
}

func (a *app) status(r statusReport) error {
	if len(r.Plugins) == 0 {
		a.warn("no plugins; see toolhost doctor for where they are searched")
	} else if err := a.pluginTable(r.Plugins); err != nil {
		return err
	}
	if len(r.Hosts) == 0 {
		return nil
	}
	var rows [][]string
	for _, h := range r.Hosts {
		row := []string{fmt.Sprint(h.PID), h.Started.Local().Format(time.DateTime), "-", "", "", h.Program}
		for _, p := range h.Plugins {
			if row[2], row[3], row[4] = p.Name, string(p.State), ""; p.PID != 0 {
				row[4] = fmt.Sprint(p.PID)
			}
			rows = append(rows, slices.Clone(row))
			row = []string{"", "", "", "", "", ""}
		}
		if len(h.Plugins) == 0 {
			rows = append(rows, row)
		}
	}
	if len(r.Plugins) > 0 {
		if _, err := a.out.Write([]byte("\n")); err != nil {
			return err
		}
	}
	return writeTable(a.out, []string{"HOST", "SINCE", "PLUGIN", "STATE", "PROCESS", "PROGRAM"}, rows)
}

// pluginTable shows the plugins, a line each, and below what a person should do something about.
func (a *app) pluginTable(plugins []pluginFile) error {
	var rows [][]string
	var notes strings.Builder
	for _, p := range plugins {
		version, manifest, what := "", "", p.Path
		if p.Build != nil {
			version = p.Build.Version
		}
		if p.Server != nil {
			what = p.Server.String() // the program is the same for all of them
		}
		if m := p.Manifest; m != nil {
			manifest = m.text(time.Now())
			if len(m.Held) > 0 {
				fmt.Fprintf(&notes, "%s: wait for a person: %s; see toolhost lint %[1]s\n", p.Name, strings.Join(m.Held, " "))
			} else if len(m.Changes) > 0 {
				fmt.Fprintf(&notes, "%s: changed since it was accepted or first seen; see toolhost lint %[1]s\n", p.Name)
			}
		}
		if q := p.Quarantine; q != nil {
			fmt.Fprintf(&notes, "%s: in quarantine since %s: %s; toolhost trust %[1]s lifts it\n", p.Name, q.At.Local().Format(time.DateTime), lineBreaks.Replace(q.Reason))
		}
		switch p.Lock {
		case "differs":
			fmt.Fprintf(&notes, "%s: is not the program that the lock file names, and does not start; toolhost lock accepts it\n", p.Name)
		case "missing":
			fmt.Fprintf(&notes, "%s: is not in the lock file, and does not start; toolhost lock adds it\n", p.Name)
		}
		if p.Error != "" {
			if p.Server != nil && p.SHA256 == "" {
				what += ": " + p.Path // it is of that program
			}
			what += ": " + p.Error
		}
		rows = append(rows, []string{p.Name, p.State, version, p.SHA256[:min(12, len(p.SHA256))], p.Lock, manifest, what})
	}
	if err := writeTable(a.out, []string{"NAME", "STATE", "VERSION", "SHA-256", "LOCK", "MANIFEST", "PATH"}, rows); err != nil {
		return err
	}
	_, err := a.out.Write([]byte(notes.String()))
	return err
}

// text is the manifest in short: its hash, how many tools, and since when that is known; of one that is dynamic, how old it is.
func (m manifestInfo) text(now time.Time) string {
	s := fmt.Sprintf("%.12s %d tools", m.Hash, len(m.Tools))
	if len(m.Tools) == 1 {
		s = fmt.Sprintf("%.12s 1 tool", m.Hash)
	}
	switch {
	case m.Since.IsZero():
	case m.Dynamic:
		s += fmt.Sprintf(" dynamic, %v old", now.Sub(m.Since).Round(time.Second))
	default:
		s += " since " + m.Since.Local().Format(time.DateTime)
	}
	return s
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
