package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/config"
)

// imported is one server of a client's file in the terms of toolhost.yaml, and what a person should know of it.
type imported struct {
	From  string // as the client names it
	Entry config.Entry
	Notes []string // what is other than in the file
}

// leftOut is what is not taken, and why.
type leftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// clientJSON is what clients write of a server. Keys that are not here change nothing that could be taken over.
type clientJSON struct {
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Transport json.RawMessage   `json:"transport"`
	Command   json.RawMessage   `json:"command"` // a text, or an object (Zed)
	Args      []string          `json:"args"`
	Env       map[string]scalar `json:"env"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"` // Windsurf
	HTTPURL   string            `json:"httpUrl"`   // Gemini
	Headers   map[string]string `json:"headers"`
	Disabled  bool              `json:"disabled"`
	Enabled   *bool             `json:"enabled"` // Zed
	Source    string            `json:"source"`  // Zed
}

// known are the keys of clientJSON, and unused those whose meaning toolhost.yaml has in another way.
var (
	known = []string{"name", "type", "transport", "command", "args", "env", "cwd", "url", "serverUrl", "httpUrl", "headers", "disabled", "enabled", "source"}

	unused = map[string]string{
		"alwaysAllow": "policy rules say what is asked", "autoApprove": "policy rules say what is asked", "trust": "policy rules say what is asked",
		"envFile": "its variables are not read: put them into env", "timeout": "write timeout or limits by hand",
		"disabledTools": "deny rules hide tools", "excludeTools": "deny rules hide tools", "includeTools": "deny rules hide tools", "tools": "deny rules hide tools",
		"oauth": "OAuth is not spoken: send a token in headers", "auth": "OAuth is not spoken: send a token in headers",
		"headersHelper": "no program is run for headers",
	}
)

// scalar is a text, or a number or truth value as its text.
type scalar string

func (s *scalar) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		*s = scalar(v)
	case float64, bool:
		*s = scalar(text)
	default:
		return errors.New("not a text")
	}
	return nil
}

// take turns one server of the file into an entry. It starts nothing (T52). The error says why it is left out.
func (c *clientFile) take(s clientServer) (*imported, error) {
	in, out, err := c.decode(s)
	if err != nil {
		return nil, err
	}
	in.URL = cmp.Or(in.URL, in.HTTPURL, in.ServerURL)
	command, err := in.command()
	switch {
	case err != nil:
		return nil, err
	case in.Disabled || in.Enabled != nil && !*in.Enabled:
		return nil, errors.New("it is disabled")
	case in.Type == "sse":
		return nil, errors.New("sse is the transport of 2024, which is not spoken; many such servers also have a URL for streamable HTTP")
	case in.Type != "" && !slices.Contains([]string{"stdio", "http", "streamable-http", "streamableHttp", "streamable_http"}, in.Type):
		return nil, fmt.Errorf("transport %q is not spoken", in.Type)
	case command == "" && in.URL == "":
		return nil, errors.New("it has neither a command nor a url")
	case command != "" && in.URL != "":
		return nil, errors.New("it has a command and a url")
	}
	r := &rewriter{file: c, out: out}
	e := &out.Entry
	if in.URL != "" {
		e.URL, e.Headers = r.text(in.URL), r.all(in.Headers)
		if len(in.Args) > 0 || len(in.Env) > 0 {
			r.note("args and env are left out: a server with a URL is not started")
		}
		return out, r.err
	}
	if len(in.Headers) > 0 {
		r.note("headers are left out: they are for a url")
	}
	e.Env = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		e.Env[name] = r.text(string(in.Env[name]))
	}
	for _, arg := range in.Args {
		e.Args = append(e.Args, r.text(arg))
	}
	e.Cwd = r.text(in.Cwd)
	if e.Cwd == "" && c.project != "" {
		e.Cwd = c.project
		r.note("it starts in " + c.project + ", as the client does it for this file")
	}
	e.Command = r.command(command, e.Cwd)
	return out, r.err
}

// decode reads the JSON and notes what of it has no meaning here.
func (c *clientFile) decode(s clientServer) (in clientJSON, out *imported, err error) {
	out = &imported{From: s.name, Entry: config.Entry{Name: pluginName(s.name)}}
	if out.Entry.Name != s.name {
		out.Notes = append(out.Notes, fmt.Sprintf("the client names it %q", s.name))
	}
	if err := json.Unmarshal(s.raw, &in); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return in, nil, fmt.Errorf("%s: a %s", cmp.Or(wrong.Field, "it"), wrong.Value)
		}
		return in, nil, err
	}
	var word string
	if in.Type == "" && json.Unmarshal(in.Transport, &word) == nil {
		in.Type = word
	}
	all, err := members(s.raw)
	for _, m := range all {
		switch why, says := unused[m.name]; {
		case slices.Contains(known, m.name) || string(m.value) == "null" || string(m.value) == "[]":
		case says:
			out.Notes = append(out.Notes, fmt.Sprintf("%s is left out: %s", m.name, why))
		default:
			out.Notes = append(out.Notes, fmt.Sprintf("%s is left out: it has no meaning here", m.name))
		}
	}
	return in, out, err
}

// command is the program; of one that is an object (Zed) the arguments and variables are taken, too.
func (in *clientJSON) command() (string, error) {
	if len(in.Command) == 0 || string(in.Command) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(in.Command, &text) == nil {
		return text, nil
	}
	var inner struct {
		Path string            `json:"path"`
		Args []string          `json:"args"`
		Env  map[string]scalar `json:"env"`
	}
	if json.Unmarshal(in.Command, &inner) != nil || inner.Path == "" {
		return "", errors.New("its command is neither a text nor an object with a path")
	}
	in.Args = append(inner.Args, in.Args...)
	for name, value := range inner.Env {
		if in.Env == nil {
			in.Env = map[string]scalar{}
		}
		in.Env[name] = value
	}
	return inner.Path, nil
}

// pluginName makes a name for toolhost.yaml of a client's.
func pluginName(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
	out = strings.Trim(out, "-")
	return cmp.Or(out[:min(len(out), 64)], "server")
}

// rewriter puts the texts of one server into the terms of toolhost.yaml.
type rewriter struct {
	file *clientFile
	out  *imported
	err  error // the first
}

// expression is what clients put in for ${}.
var expression = regexp.MustCompile(`\$\{([^}]*)\}`)

// envExpression is one that toolhost.yaml has, too.
var envExpression = regexp.MustCompile(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-.*)?$`)

// text rewrites the expressions of one text.
func (r *rewriter) text(s string) string {
	return expression.ReplaceAllStringFunc(s, func(whole string) string {
		inner := whole[2 : len(whole)-1]
		if id, ok := strings.CutPrefix(inner, "input:"); ok {
			name := envName(id)
			what := "the client asks for it"
			if d := r.file.inputs[id]; d != "" {
				what += fmt.Sprintf(" (%s)", oneLine(d))
			}
			r.note(fmt.Sprintf("${%s} is $%s here: %s", inner, name, what))
			r.needs(name)
			return "${" + name + "}"
		}
		if m := envExpression.FindStringSubmatch(inner); m != nil && inner != "workspaceFolder" && inner != "userHome" && inner != "pathSeparator" {
			if m[2] == "" {
				r.needs(m[1])
			}
			return whole
		}
		value := map[string]string{"userHome": homeDir(), "pathSeparator": string(filepath.Separator), "/": string(filepath.Separator), "workspaceFolder": r.file.project}[inner]
		if value == "" {
			r.err = cmp.Or(r.err, fmt.Errorf("%s means nothing here; write it out", whole))
		}
		return value
	})
}

func (r *rewriter) all(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out[name] = r.text(in[name])
	}
	return out
}

// needs notes a variable that is not set.
func (r *rewriter) needs(name string) {
	if _, set := os.LookupEnv(name); !set {
		r.note(fmt.Sprintf("$%s is not set: it must be before the configuration can be used", name))
	}
}

func (r *rewriter) note(text string) {
	if !slices.Contains(r.out.Notes, text) {
		r.out.Notes = append(r.out.Notes, text)
	}
}

// command finds the program, so that the one that is shown is the one that will run (T55).
func (r *rewriter) command(name, cwd string) string {
	out := r.text(name)
	switch {
	case strings.Contains(out, "${"), filepath.IsAbs(out):
	case strings.ContainsAny(out, `/\`):
		if rest, ok := strings.CutPrefix(out, "~/"); ok && homeDir() != "" {
			return filepath.Join(homeDir(), rest)
		}
		if !filepath.IsAbs(cwd) {
			cwd = filepath.Dir(r.file.path)
		}
		return filepath.Join(cwd, out)
	default:
		found, err := exec.LookPath(out)
		if err != nil || !filepath.IsAbs(found) {
			r.note(out + " is not in PATH here")
			return out
		}
		return found
	}
	return out
}
