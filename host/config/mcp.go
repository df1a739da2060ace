package config

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// Importer is the name of the program that makes an MCP server a plugin, without the ending of Windows.
const Importer = "toolplugin-mcp"

// Server is one entry of the block mcp: a server of the Model Context Protocol whose tools become the host's. A
// plugin of its own, the program Importer, starts or reaches it. Its JSON form is that plugin's settings.
type Server struct {
	Name    string            `json:"-"`                 // the plugin's name
	Type    string            `json:"type"`              // "stdio" or "http"
	Command string            `json:"command,omitempty"` // absolute, found when the file was read (T55); as it was written if there is no such program
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // of that process only: no plugin and no other server has them
	Cwd     string            `json:"cwd,omitempty"` // absolute
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // of every request
	Era     string            `json:"era,omitempty"`     // "auto", "legacy" or "modern"; empty: auto
	Timeout string            `json:"timeout,omitempty"` // of connecting and of listing, as time.ParseDuration reads it; empty: the plugin's default

	Output     string   `json:"output,omitempty"`     // "reject" or "off", what becomes of results that break their output schemas (R19); empty: reject
	Idempotent []string `json:"idempotent,omitempty"` // tools, by the server's names, that may be called again after an unknown outcome (C3)

	Definitions host.Definitions `json:"-"` // DefinitionsReview if it was not given (T16, R15)
	Sandbox     host.Sandbox     `json:"-"`
	Trusted     bool             `json:"-"`
	Grant       host.Grant       `json:"-"`
	Limits      host.Limits      `json:"-"` // Describe and Start are longer and Idle is never, if they were not given

	// Unusable says which variables of the environment it names that are not set; where they stand, the texts above are as they were
	// written. If nil, none: else the host lists it with this error and starts nothing.
	Unusable *Error `json:"-"`
}

// serverDescribe is how long an imported server may take to say what tools it has, if the file does not say: one that
// is fetched before it starts, as npx does, takes that long.
const serverDescribe = time.Minute

// serverSlack is what a plugin needs beside the timeout that it was given.
const serverSlack = 5 * time.Second

// Plugin returns the plugin that imports the server. importer is the program; if empty, see File.Importer.
func (s Server) Plugin(importer string) host.Plugin {
	settings, err := json.Marshal(s)
	if err != nil { // cannot happen: texts
		settings = nil
	}
	if importer == "" {
		importer = besideImporter()
	}
	definitions := s.Definitions
	p := host.Plugin{
		Name: s.Name, Path: importer, Settings: settings, Sandbox: s.Sandbox, Trusted: s.Trusted, Grant: s.Grant, Limits: s.Limits,
		Definitions: &definitions,
	}
	if s.Command != "" {
		p.Programs = []string{s.Command}
	}
	if s.Unusable != nil {
		p.Unusable = errors.New(strings.ReplaceAll(s.Unusable.Error(), "\n", "; "))
	}
	return p
}

// besideImporter is the Importer in the directory of the running program, or in ../libexec/toolhost if it is there only.
func besideImporter() string {
	name := Importer
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return name // then the host says that it is not there
	}
	beside := filepath.Join(filepath.Dir(own), name)
	if _, err := os.Stat(beside); err != nil {
		if other := filepath.Join(filepath.Dir(own), "..", "libexec", "toolhost", name); isProgram(other) {
			return other
		}
	}
	return beside
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// serverJSON is an entry of mcp as it is written.
type serverJSON struct {
	Type        string            `json:"type"`
	Command     string            `json:"command"`
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	Cwd         string            `json:"cwd"`
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	Disabled    bool              `json:"disabled"`
	Era         string            `json:"era"`
	Timeout     any               `json:"timeout"`
	Output      string            `json:"output"`
	Idempotent  []string          `json:"idempotent"`
	Definitions *host.Definitions `json:"definitions"`
	Sandbox     json.RawMessage   `json:"sandbox"`
	Trusted     bool              `json:"trusted"`
	Grant       host.Grant        `json:"grant"`
	Limits      map[string]any    `json:"limits"`
}

// servers decodes the block mcp, without those that are disabled.
func (d *decoder) servers(in map[string]serverJSON, plugins map[string]pluginJSON) []Server {
	var out []Server
	for name, s := range in {
		at := "/mcp/" + jsonpointer.Escape(name)
		if _, twice := plugins[name]; twice {
			d.fault(at, "plugins has the same name; give one of them another")
		}
		if !s.Disabled {
			out = append(out, d.server(at, name, s))
		}
	}
	slices.SortFunc(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (d *decoder) server(at, name string, in serverJSON) Server {
	d.lacks = nil
	out := Server{
		Name: name, Era: in.Era, Output: in.Output, Idempotent: in.Idempotent, Definitions: host.DefinitionsReview,
		Sandbox: d.sandbox(at+"/sandbox", in.Sandbox), Trusted: in.Trusted, Grant: in.Grant,
		Env: d.expandMap(at+"/env", in.Env), Headers: d.expandMap(at+"/headers", in.Headers),
	}
	if in.Definitions != nil {
		out.Definitions = *in.Definitions
	}
	for i, arg := range in.Args {
		out.Args = append(out.Args, d.expand(at+"/args/"+strconv.Itoa(i), arg))
	}
	switch {
	case in.Command == "" && in.URL == "":
		d.fault(at, "neither a command nor a url; name the program that is the server, or where it is reached")
	case in.Command != "" && in.URL != "":
		d.fault(at+"/url", "a command and a url; keep one of them")
	case in.URL != "":
		d.remote(at, in, &out)
	default:
		d.local(at, in, &out)
	}
	d.limits(at+"/limits", in.Limits, &out.Limits)
	for _, limit := range []*time.Duration{&out.Limits.Describe, &out.Limits.Start} {
		if *limit == 0 {
			*limit = serverDescribe
		}
	}
	if out.Limits.Idle == 0 {
		out.Limits.Idle = -1 // a server may keep what it learned from one call for the next
	}
	if in.Timeout != nil {
		n, err := duration(in.Timeout)
		if err != nil {
			d.fault(at+"/timeout", err.Error())
		} else {
			out.Timeout = time.Duration(n).String()
			out.Limits.Describe = max(out.Limits.Describe, time.Duration(n)+serverSlack)
			out.Limits.Start = max(out.Limits.Start, out.Limits.Describe)
		}
	}
	if len(d.lacks) > 0 {
		out.Unusable = &Error{File: d.name, Faults: d.lacks}
	}
	return out
}

// remote decodes what is said of a server that has a URL.
func (d *decoder) remote(at string, in serverJSON, out *Server) {
	lacks := len(d.lacks)
	out.Type, out.URL = "http", d.expand(at+"/url", in.URL)
	if in.Type == "stdio" {
		d.fault(at+"/type", "stdio is for a command; write http, or leave it out")
	}
	for _, given := range []struct {
		key string
		is  bool
	}{{"args", in.Args != nil}, {"env", in.Env != nil}, {"cwd", in.Cwd != ""}} {
		if given.is {
			d.fault(at+"/"+given.key, "is for a command; a server with a url has none")
		}
	}
	u, err := url.Parse(out.URL)
	switch {
	case len(d.lacks) > lacks: // it is no URL yet
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		d.fault(at+"/url", "no URL like https://example.com/mcp")
	case u.User != nil:
		d.fault(at+"/url", "a name or a password in the URL, which logs show; send it in headers")
	}
	for name, value := range out.Headers {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			d.fault(at+"/headers/"+jsonpointer.Escape(name), "a control character; a header cannot hold one")
		}
	}
}

// local decodes what is said of a server that is a program.
func (d *decoder) local(at string, in serverJSON, out *Server) {
	out.Type = "stdio"
	if in.Type != "" && in.Type != "stdio" {
		d.fault(at+"/type", in.Type+" is for a url; write stdio, or leave it out")
	}
	if in.Headers != nil {
		d.fault(at+"/headers", "is for a url; a command gets none")
	}
	if in.Cwd != "" {
		var err error
		if out.Cwd, err = d.path(d.expand(at+"/cwd", in.Cwd)); err == nil {
			out.Cwd, err = filepath.Abs(out.Cwd)
		}
		if err != nil {
			d.fault(at+"/cwd", err.Error())
		}
	}
	for key, value := range out.Env {
		if strings.ContainsRune(value, 0) {
			d.fault(at+"/env/"+jsonpointer.Escape(key), "a NUL character; an environment variable cannot hold one")
		}
	}
	for i, arg := range out.Args {
		if strings.ContainsRune(arg, 0) {
			d.fault(at+"/args/"+strconv.Itoa(i), "a NUL character; an argument cannot hold one")
		}
	}
	lacks := len(d.lacks)
	if out.Command = d.expand(at+"/command", in.Command); len(d.lacks) == lacks {
		out.Command = d.command(at+"/command", out.Command)
	}
}

// command finds a program once, so that what is started is what was shown (T55): by its path, relative to the file, or in
// PATH, where a directory that is not absolute does not count. One that is not found stays as it is: then its plugin fails,
// and nothing else.
func (d *decoder) command(at, name string) string {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, 0) {
		path, err := d.path(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			d.fault(at, err.Error())
		}
		return path
	}
	if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
		return found
	}
	return name
}
