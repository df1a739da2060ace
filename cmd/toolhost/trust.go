package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

const trustLong = `Trust what a directory holds now, so that it is used when it is the working
directory: its toolhost.yaml as the configuration, its toolplugin-* as plugins.
DIR is the working directory if it is omitted.

What would be used is shown first: every file with its hash, and what the
configuration would start. Then the terminal asks; --yes answers. Without a
terminal and without --yes nothing is trusted, and the exit code is 2.

Trust is by content. It covers toolhost.yaml, toolplugin-*, and the files below
DIR that the configuration starts or names in their arguments. When one of them
changes it ends, until it is given again. What those files load themselves is
not looked at. The directories above and below DIR are not trusted by it.

NAME, a word without a slash that is no directory, is a plugin in quarantine:
what it was quarantined for is shown, and it may start again.`

func (a *app) trustCommand() *cobra.Command {
	var yes, list, remove bool
	cmd := &cobra.Command{
		Use:   "trust [DIR | NAME]",
		Short: "Use what a directory holds now, or let a plugin out of quarantine",
		Long:  trustLong,
		Example: `  toolhost trust
  toolhost trust ./project --yes
  toolhost trust --list
  toolhost trust ./project --remove
  toolhost trust weather`,
		Args:              wants(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := findPlaces(a.plugins, a.config, a.state)
			if err != nil {
				return err
			}
			dirs, err := host.OpenStateDir(p.state)
			if err != nil {
				return err
			}
			arg := strings.Join(args, "")
			switch {
			case list && (remove || yes || len(args) > 0), remove && yes, len(args) == 1 && arg == "":
				return usagef("trust: want one of --list, --remove [DIR] and [DIR | NAME] [--yes]")
			case list:
				return a.listTrusted(dirs)
			case remove:
				return a.untrust(dirs, orHere(arg))
			case arg != "" && !strings.ContainsAny(arg, `/\`) && !isDir(arg):
				return a.release(dirs, arg)
			}
			return a.trust(cmd.Context(), dirs, orHere(arg), yes)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&yes, "yes", false, "trust it without a question")
	flags.BoolVar(&list, "list", false, "list the directories that are trusted")
	flags.BoolVar(&remove, "remove", false, "trust it no more")
	return cmd
}

func orHere(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// offer is what trust shows before it asks.
type offer struct {
	Dir     string        `json:"dir"`
	Hash    string        `json:"hash"`
	Files   []contentFile `json:"files"`
	Starts  []launched    `json:"starts"`
	Trusted bool          `json:"trusted"` // now
}

// launched is what would be started.
type launched struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Env     []string `json:"env"` // names
	Sandbox string   `json:"sandbox"`
	Trusted bool     `json:"trusted"` // what it says of itself is believed
	From    string   `json:"from"`    // "toolhost.yaml" or "directory"
}

func newOffer(c *content) offer {
	o := offer{Dir: c.Dir, Hash: c.hash(), Files: c.Files, Starts: []launched{}}
	add := func(p host.Plugin, from string) {
		s := launched{
			Name: p.Name, Command: append([]string{p.Path}, p.Args...), Env: []string{}, Sandbox: string(p.Sandbox.Profile), Trusted: p.Trusted, From: from,
		}
		for _, kv := range p.Env {
			name, _, _ := strings.Cut(kv, "=")
			s.Env = append(s.Env, name)
		}
		if s.Sandbox == "" {
			s.Sandbox = string(host.ProfileDefault)
		}
		o.Starts = append(o.Starts, s)
	}
	if c.File != nil {
		for _, p := range c.File.Plugins {
			add(p, configName)
		}
		for _, s := range c.File.Servers {
			p, info := s.Plugin(""), newServerInfo(s)
			add(p, configName)
			at := &o.Starts[len(o.Starts)-1]
			if at.Env = info.Env; at.Env == nil {
				at.Env = []string{}
			}
			if at.Command = info.Command; at.Command == nil {
				at.Command = []string{info.URL}
			}
		}
	}
	for _, p := range c.Plugins {
		add(p, "directory")
	}
	return o
}

// text is for people. Names and arguments are quoted where they could be taken for something else.
func (o offer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  holds\n", word(o.Dir))
	for _, f := range o.Files {
		fmt.Fprintf(&b, "    %.12s  %s\n", f.SHA256, word(f.Path))
	}
	if len(o.Starts) > 0 {
		b.WriteString("  would start, when their tools are needed\n")
	}
	for _, s := range o.Starts {
		fmt.Fprintf(&b, "    %s: %s\n", word(s.Name), words(s.Command))
		fmt.Fprintf(&b, "      sandbox %s", s.Sandbox)
		if len(s.Env) > 0 {
			fmt.Fprintf(&b, "; sets %s", word(strings.Join(s.Env, " ")))
		}
		if s.Trusted {
			b.WriteString("; what it says of itself is believed")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// word is s as one word on one line.
func word(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || r == '"' || r == '\'' || unprintable(r) }) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }

func (a *app) trust(ctx context.Context, dirs *host.StateDir, dir string, yes bool) error {
	if err := host.CheckPlace(dir); err != nil {
		return usagef("trust %s: %w", dir, err)
	}
	c, err := readContent(dir)
	if err != nil {
		return err
	}
	for _, err := range c.Skipped {
		a.warn("not a plugin: %v", err)
	}
	if c.empty() {
		return usagef("trust %s: it has no %s and no plugins", dir, configName)
	}
	o := newOffer(c)
	if !yes {
		return a.askTrust(ctx, dirs, o)
	}
	if !a.json {
		if _, err := a.out.Write([]byte(o.text())); err != nil {
			return err
		}
	}
	return a.recordTrust(dirs, o)
}

// askTrust asks on the terminal, if there is one.
func (a *app) askTrust(ctx context.Context, dirs *host.StateDir, o offer) error {
	var d *device
	if !a.json {
		d = a.openDevice()
	}
	if d == nil {
		if err := a.showOffer(o); err != nil {
			return err
		}
		return usagef("trust %s: nobody was asked, and nothing is trusted: answer on a terminal, or look at it and add --yes", o.Dir)
	}
	defer d.close()
	answer, err := d.line(ctx, o.text(), "Trust these files as they are now? [y/N] ")
	if errors.Is(err, errNobody) {
		return usagef("trust %s: nobody answered, and nothing is trusted", o.Dir)
	}
	if err != nil {
		return err
	}
	if !isYes(strings.TrimSpace(answer)) {
		return &host.Error{Op: "trust", Tool: o.Dir, Code: host.Denied, Err: errors.New("no, at the terminal")}
	}
	return a.recordTrust(dirs, o)
}

func (a *app) showOffer(o offer) error {
	if a.json {
		return writeJSON(a.out, o)
	}
	_, err := a.out.Write([]byte(o.text()))
	return err
}

func (a *app) recordTrust(dirs *host.StateDir, o offer) error {
	if err := dirs.TrustDir(o.Dir, o.Hash); err != nil {
		return err
	}
	if o.Trusted = true; a.json {
		return a.showOffer(o)
	}
	_, err := fmt.Fprintf(a.out, "trusted %s %.12s\n", word(o.Dir), o.Hash)
	return err
}

// trustState is one line of trust --list.
type trustState struct {
	host.TrustedDir
	State string `json:"state"` // "unchanged", "changed" or "gone"
}

func (a *app) listTrusted(dirs *host.StateDir) error {
	trusted, err := dirs.TrustedDirs()
	if err != nil {
		a.warn("%v", err)
	}
	all, rows := []trustState{}, [][]string{}
	for _, t := range trusted {
		s := trustState{t, "unchanged"}
		switch c, err := readContent(t.Path); {
		case !isDir(t.Path):
			s.State = "gone"
		case err != nil || c.hash() != t.Hash:
			s.State = "changed"
		}
		all = append(all, s)
		rows = append(rows, []string{s.State, t.At.Local().Format(time.DateTime), t.Hash[:min(12, len(t.Hash))], t.Path})
	}
	switch {
	case a.json:
		return writeJSON(a.out, all)
	case len(rows) == 0:
		a.warn("no directory is trusted")
		return nil
	}
	return writeTable(a.out, []string{"STATE", "SINCE", "HASH", "DIRECTORY"}, rows)
}

func (a *app) untrust(dirs *host.StateDir, dir string) error {
	ok, err := dirs.UntrustDir(dir)
	if err != nil {
		return err
	}
	if !ok {
		return &host.Error{Op: "trust", Tool: dir, Code: host.NotFound, Err: errors.New("it is not trusted; toolhost trust --list says what is")}
	}
	return a.done(map[string]string{"dir": dir, "state": "removed"}, "no longer trusted: "+word(dir))
}

// release lets a plugin out of quarantine.
func (a *app) release(dirs *host.StateDir, name string) error {
	was, ok, err := dirs.Release(name)
	if err != nil {
		return err
	}
	if !ok {
		return &host.Error{Op: "trust", Tool: name, Code: host.NotFound, Err: errors.New("no plugin of that name is in quarantine, and it is no directory")}
	}
	if a.json {
		return writeJSON(a.out, was)
	}
	text := fmt.Sprintf("%s may start again; it was in quarantine", word(name))
	if !was.At.IsZero() {
		text += " since " + was.At.Local().Format(time.DateTime)
	}
	return a.done(nil, text+": "+lineBreaks.Replace(was.Reason))
}

// done prints what was done: v as JSON, or a line.
func (a *app) done(v any, line string) error {
	if a.json {
		return writeJSON(a.out, v)
	}
	_, err := fmt.Fprintln(a.out, line)
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
