package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/proto/wire"
)

// finding is one thing that doctor looked at.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, note or broken
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

const (
	fine   = "ok"
	note   = "note" // works, but not in full, or is not there and need not be
	broken = "broken"
)

const doctorLong = `Check what this machine offers, the directories, the configuration, and why each
entry of the plugin directories is a plugin or none. No plugin is started. What MCP
clients do not take of the tools' definitions, toolhost lint says.

With a BINARY, check that plugin instead. It is STARTED, by hand and through a host,
stopped, killed, and its tools are CALLED: those that say that they are read-only or
idempotent and do not say that they reach an open world, those that --input names, and
with --unsafe all. Inputs are the tool's examples, or made up. Settings, arguments,
environment, sandbox and limits are those of the plugin in the configuration whose
path it is.

Exits 8 if something is broken.`

func (a *app) doctorCommand() *cobra.Command {
	var exam exam
	cmd := &cobra.Command{
		Use:   "doctor [BINARY]",
		Short: "Check this machine and the plugins; or start one plugin and check it",
		Long:  doctorLong,
		Example: `  toolhost doctor
  toolhost doctor bin/plugins/toolplugin-weather
  toolhost doctor ./toolplugin-notes --input 'search={"text":"milk"}'`,
		Args: wants(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.conform(cmd.Context(), args[0], exam)
			}
			if exam.any() {
				return usagef("doctor: --input, --unsafe and --check are for a BINARY")
			}
			return a.checkup()
		},
	}
	exam.define(cmd.Flags())
	return cmd
}

// checkup looks at everything and starts nothing.
func (a *app) checkup() error {
	findings, err := a.examine()
	if err != nil {
		return err
	}
	count := 0
	for _, f := range findings {
		if f.State == broken {
			count++
		}
	}
	if err := a.findings(findings, count == 0); err != nil {
		return err
	}
	if count > 0 {
		return &brokenError{count}
	}
	return nil
}

func (a *app) findings(list []finding, ok bool) error {
	if a.json {
		return writeJSON(a.out, struct {
			OK       bool      `json:"ok"`
			Findings []finding `json:"findings"`
		}{ok, list})
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%-6s  %s: %s\n", f.State, f.Name, lineBreaks.Replace(f.Detail))
		if f.Advice != "" {
			fmt.Fprintf(&b, "        %s\n", f.Advice)
		}
	}
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// examine looks at everything.
func (a *app) examine() ([]finding, error) {
	p, err := a.places()
	if err != nil {
		return nil, err
	}
	list := []finding{{Name: "toolhost", State: fine, Detail: ownVersion().String()}}
	list = append(list, machine()...)
	list = append(list, a.terminals(), privateDir("state directory", p.state))
	f, cfg := a.checkConfig(p)
	list = append(append(list, f), a.importer()...)
	for _, dir := range p.plugins {
		list = append(list, pluginDir(dir, p.dirsNamed))
	}
	plugins, _ := findPlugins(cfg) // directories that cannot be read were named just before
	held := quarantined(p.state)
	for _, plugin := range plugins {
		f := finding{Name: "plugin " + plugin.Name, State: fine, Detail: plugin.Path}
		if plugin.Build != nil {
			f.Detail += fmt.Sprintf(" (%s %s)", plugin.Build.Module, plugin.Build.Version)
		}
		if s := a.serverOf(plugin.Name); s != nil {
			f.Detail = "MCP server " + s.String()
		}
		if plugin.Error != "" {
			f.State, f.Detail = broken, plugin.Path+": "+plugin.Error
		} else if q, ok := held[plugin.Name]; ok && q.Program == plugin.SHA256 {
			f.State, f.Detail = note, fmt.Sprintf("in quarantine since %s: %s", q.At.Local().Format(time.DateTime), q.Reason)
			f.Advice = "a new binary, other settings or toolhost trust " + plugin.Name + " lift it"
		}
		list = append(list, f)
	}
	return list, nil
}

// quarantined are the quarantines of a state directory, by plugin; none if they cannot be read.
func quarantined(dir string) map[string]host.Quarantine {
	out := map[string]host.Quarantine{}
	state, err := host.OpenStateDir(dir)
	if err != nil {
		return out
	}
	list, _ := state.Quarantines() // what could be read
	for _, q := range list {
		out[q.Plugin] = q
	}
	return out
}

func (a *app) checkConfig(p places) (finding, host.Config) {
	f := finding{Name: "configuration", State: fine, Detail: p.config}
	if !p.configNamed && (p.config == "" || !exists(p.config)) {
		f.State, f.Detail = note, "no "+p.config
	}
	cfg, err := a.hostConfig(p)
	if err != nil {
		f.State, f.Detail = broken, err.Error()
		if e, ok := errors.AsType[*config.Error](err); ok && len(e.Faults) > 0 {
			f.Advice = "correct the file; its schema is host/config/toolhost.schema.json"
		}
		cfg = host.Config{Dirs: p.plugins}
	}
	return f, cfg
}

func (a *app) terminals() finding {
	var words []string
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"stdin", isTerminal(a.stdin)}, {"stdout", a.out.tty}, {"stderr", a.err.tty},
	} {
		if f.is {
			words = append(words, f.name)
		}
	}
	if len(words) == 0 {
		words = []string{"none"}
	}
	return finding{Name: "terminals", State: fine, Detail: strings.Join(words, ", ")}
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// privateDir checks a directory that only this user may use. It may not exist yet; then it must be possible
// to make it.
func privateDir(name, dir string) finding {
	f := finding{Name: name, State: fine, Detail: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := existingParent(dir)
		if !writable(parent) {
			f.State, f.Detail = broken, dir+" is not there, and "+parent+" is not writable"
			f.Advice = "make it, or name another with --state"
			return f
		}
		f.State, f.Detail = note, dir+" is not there yet; it is made when it is needed"
	case err != nil:
		f.State, f.Detail = broken, err.Error()
	case !info.IsDir():
		f.State, f.Detail = broken, dir+" is not a directory"
	case !ownedByUser(info):
		f.State, f.Detail, f.Advice = broken, dir+" belongs to another user", "remove it, or name another"
	case othersMay(info):
		f.State, f.Detail = broken, fmt.Sprintf("%s has mode %04o: others can look into it", dir, info.Mode().Perm())
		f.Advice = "chmod 700 " + dir
	case !writable(dir):
		f.State, f.Detail, f.Advice = broken, dir+" is not writable", "chmod 700 "+dir
	}
	return f
}

func existingParent(dir string) string {
	for !exists(dir) {
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return dir
}

func pluginDir(dir string, named bool) finding {
	f := finding{Name: "plugin directory", State: fine, Detail: dir}
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil:
		others := 0
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), wire.BinaryPrefix) {
				others++
			}
		}
		if others > 0 {
			f.Detail += fmt.Sprintf(" (%d entries are not named %s…)", others, wire.BinaryPrefix)
		}
	case errors.Is(err, fs.ErrNotExist) && !named:
		f.State, f.Detail = note, "no "+dir
	default:
		f.State, f.Detail = broken, err.Error()
	}
	return f
}
