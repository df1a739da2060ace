package main

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// serverInfo is an MCP server that a plugin imports, or would: without the values of what may be secret.
type serverInfo struct {
	Command []string `json:"command,omitempty"` // what is started
	Cwd     string   `json:"cwd,omitempty"`
	Env     []string `json:"env,omitempty"` // names
	URL     string   `json:"url,omitempty"` // what is used, in place of a command
	Headers []string `json:"headers,omitempty"`
	Era     string   `json:"era,omitempty"` // as it was configured
}

func newServerInfo(s config.Server) serverInfo {
	out := serverInfo{Cwd: s.Cwd, Env: slices.Sorted(maps.Keys(s.Env)), URL: shownURL(s.URL), Headers: slices.Sorted(maps.Keys(s.Headers)), Era: s.Era}
	if s.Command != "" {
		out.Command = append([]string{s.Command}, s.Args...)
	}
	return out
}

// shownURL is a URL without what may be a secret in it: its user, and the values of its query (T52).
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text // it is refused where it is used
	}
	if u.User != nil {
		u.User = url.User("***")
	}
	query := u.Query()
	for name := range query {
		query[name] = []string{"***"}
	}
	u.RawQuery = query.Encode()
	return strings.ReplaceAll(u.String(), "%2A%2A%2A", "***")
}

// String is the command line or the URL, on one line.
func (s serverInfo) String() string {
	if len(s.Command) == 0 {
		return word(s.URL)
	}
	return words(s.Command)
}

// words writes texts on one line, each as one word.
func words(list []string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = word(w)
	}
	return strings.Join(quoted, " ")
}

// serverOf returns the server that the plugin of this name imports; nil if it imports none. The configuration has been read.
func (a *app) serverOf(name string) *serverInfo {
	if a.file == nil {
		return nil
	}
	i := slices.IndexFunc(a.file.Servers, func(s config.Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	s := newServerInfo(a.file.Servers[i])
	return &s
}

// importer looks at the program that imports servers, if the configuration has any.
func (a *app) importer() []finding {
	if a.file == nil || len(a.file.Servers) == 0 {
		return nil
	}
	f := finding{Name: "MCP importer", State: fine, Detail: a.file.Servers[0].Plugin(a.file.Importer).Path}
	_, err := os.Stat(f.Detail)
	if err == nil {
		err = host.Check(host.Plugin{Path: f.Detail})
	}
	if err != nil {
		f.State, f.Detail = broken, f.Detail+": "+cmp.Or(pathCause(err), err.Error())
		f.Advice = "put " + config.Importer + " beside toolhost: the servers of the block mcp need it, and make build makes it"
	}
	return []finding{f}
}

// pathCause is the cause of an error that names its path; empty if it is none.
func pathCause(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return ""
}
