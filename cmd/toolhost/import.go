package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

const importLong = `Take over MCP servers from a client's configuration file: claude_desktop_config.json,
.mcp.json, .cursor/mcp.json and others with mcpServers, VS Code's mcp.json and
settings.json, Zed's settings.json. Comments and trailing commas are fine.

NOTHING IS STARTED. What would be is shown on stderr: each command line with the program
that was found for it, the names of its variables, the URL and the names of its headers,
what is other than in the file, and what was left out and why. The block mcp for
toolhost.yaml is printed on stdout. In it values of variables and headers are replaced by
${NAME}, to be set in the environment.

With --write the servers are added to the configuration (--config, else the user's), and
the rest of that file stays byte for byte. Values are written as they are, and nobody but
you can read the file then: its mode becomes 600. A name that is there is not replaced.`

func (a *app) importCommand() *cobra.Command {
	var names []string
	var write bool
	cmd := &cobra.Command{
		Use:   "import FILE [--name N]... [--write]",
		Short: "Take over MCP servers from a client's configuration; starts nothing",
		Long:  importLong,
		Example: `  toolhost import ~/.config/Claude/claude_desktop_config.json
  toolhost import .mcp.json --name github --write`,
		Args: wants(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readClientFile(args[0])
			if err != nil {
				return err
			}
			o, err := file.importAll(names)
			if err != nil {
				return err
			}
			if len(o.taken) == 0 {
				a.showImport(o)
				return usagef("import %s: nothing was taken over", args[0])
			}
			if write {
				if o.Written, err = a.writeImport(o); err != nil {
					a.showImport(o)
					return err
				}
			}
			return a.printImport(o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&names, "name", nil, "take over only the server `N` (repeatable)")
	flags.BoolVar(&write, "write", false, "add them to the configuration")
	return cmd
}

// importOffer is what import shows.
type importOffer struct {
	File    string          `json:"file"`
	Format  string          `json:"format"`
	Servers []serverOffer   `json:"servers"`
	LeftOut []leftOut       `json:"leftOut"`
	Written string          `json:"written,omitempty"` // the configuration that they were added to
	taken   []*imported     // in the order of Servers
	masked  []config.Entry  // for the eyes
	uses    map[string]bool // variables that stand for masked values
}

// serverOffer is one server, without the values of what may be secret.
type serverOffer struct {
	Name string `json:"name"`
	From string `json:"from"` // as the client names it
	serverInfo
	Notes []string `json:"notes,omitempty"`
}

// importAll takes the servers of those names over, or all if there are none.
func (c *clientFile) importAll(names []string) (*importOffer, error) {
	o := &importOffer{File: c.path, Format: c.format, Servers: []serverOffer{}, LeftOut: []leftOut{}, uses: map[string]bool{}}
	for _, name := range names {
		if !slices.ContainsFunc(c.servers, func(s clientServer) bool { return s.name == name }) {
			var there []string
			for _, s := range c.servers {
				there = append(there, s.name)
			}
			return nil, usagef("import: %s has no server %q; it has %s", c.path, name, strings.Join(there, ", "))
		}
	}
	for _, s := range c.servers {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		in, err := c.take(s)
		if err == nil && slices.ContainsFunc(o.taken, func(other *imported) bool { return other.Entry.Name == in.Entry.Name }) {
			err = fmt.Errorf("its name here would be %s, which another one has", in.Entry.Name)
		}
		if err != nil {
			o.LeftOut = append(o.LeftOut, leftOut{s.name, err.Error()})
			continue
		}
		o.add(in)
	}
	return o, nil
}

func (o *importOffer) add(in *imported) {
	e := in.Entry
	info := newServerInfo(config.Server{Command: e.Command, Args: e.Args, Cwd: e.Cwd, Env: e.Env, URL: e.URL, Headers: e.Headers})
	s := serverOffer{Name: e.Name, From: in.From, serverInfo: info, Notes: in.Notes}
	if e.Command != "" {
		if bad, ok := errors.AsType[*host.PlaceError](host.CheckPlace(e.Command)); ok {
			s.Notes = append(s.Notes, "it would not be started: "+bad.Error())
		}
	}
	o.Servers, o.taken = append(o.Servers, s), append(o.taken, in)
	masked := e
	masked.Env, masked.Headers = o.mask(e.Name, e.Env, false), o.mask(e.Name, e.Headers, true)
	o.masked = append(o.masked, masked)
}

// mask replaces values by variables of the environment: of the same name, or one that begins with the server's.
func (o *importOffer) mask(server string, values map[string]string, prefix bool) map[string]string {
	out := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if expression.MatchString(values[name]) {
			continue // it says by itself where the value comes from
		}
		v := envName(name)
		if prefix || o.uses[v] {
			v = envName(server + "_" + name)
		}
		o.uses[v] = true
		out[name] = "${" + v + "}"
	}
	return out
}

// printImport prints what was taken over.
func (a *app) printImport(o *importOffer) error {
	if a.json {
		return writeJSON(a.out, o)
	}
	a.showImport(o)
	if o.Written != "" {
		return a.done(nil, fmt.Sprintf("added %d servers to %s", len(o.taken), word(o.Written)))
	}
	_, err := a.out.Write(config.Block(o.masked))
	return err
}

// showImport says on stderr what would run and what was left out.
func (a *app) showImport(o *importOffer) {
	if a.json {
		return
	}
	var b strings.Builder
	list := func(name string, all []string) {
		if len(all) > 0 {
			fmt.Fprintf(&b, "  %-8s %s\n", name, words(all))
		}
	}
	one := func(name, value string) {
		if value != "" {
			list(name, []string{value})
		}
	}
	for _, s := range o.Servers {
		fmt.Fprintln(&b, word(s.Name))
		list("would run", s.Command)
		one("in", s.Cwd)
		list("with", s.Env)
		one("would use", s.URL)
		list("headers", s.Headers)
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "  note     %s\n", lineBreaks.Replace(n))
		}
	}
	for _, l := range o.LeftOut {
		fmt.Fprintf(&b, "%s\n  left out: %s\n", word(l.Name), lineBreaks.Replace(l.Reason))
	}
	_, _ = a.err.Write([]byte(b.String())) // there is nowhere left to say that stderr is gone
}

// writeImport adds the servers to the configuration and returns its path.
func (a *app) writeImport(o *importOffer) (string, error) {
	p, err := findPlaces(a.plugins, a.config, a.state)
	if err != nil {
		return "", err
	}
	if p.config == "" {
		return "", usagef("import: no configuration directory: HOME is not set; name a file with --config")
	}
	path := p.config
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	release, err := holdFile("import", path)
	if err != nil {
		return "", err
	}
	defer release()
	text, err := readBounded(path, config.MaxSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", usagef("import: %w", err)
	}
	if err == nil {
		if bad, ok := errors.AsType[*host.PlaceError](host.CheckPlace(path)); ok {
			return "", usagef("configuration %s: %w", path, bad)
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o200 == 0 {
			return "", usagef("import: %s is read-only, and nothing was written: chmod u+w, or name another file with --config", path)
		}
		if err == nil && othersMay(info) {
			a.warn("%s had mode %04o, and has 0600 now: it may hold secrets", path, info.Mode().Perm())
		}
	}
	entries := make([]config.Entry, len(o.taken))
	for i, in := range o.taken {
		entries[i] = in.Entry
	}
	changed, err := config.Add(path, text, entries)
	if err != nil {
		const advice = "; nothing was written: --name takes over only the servers that it names"
		if _, ok := errors.AsType[*config.Error](err); !ok {
			return "", usagef("import: %w"+advice, err)
		}
		if _, bad := config.Parse(path, text); bad != nil { // the file itself, and not what would be added
			return "", err
		}
		return "", usagef("%w"+advice, err)
	}
	return path, replaceFile("import", path, changed, 0o600)
}
