package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/proto/wire"
)

//go:embed templates
var templates embed.FS

// scaffold is what the templates are filled with.
type scaffold struct {
	Name    string // of the plugin and its tool
	Module  string // of the new plugin
	SDK     string // the module that has pluginsdk
	Version string // of SDK
	Replace string // directory of a checkout of SDK; empty: none
	Go      string // language version
	Require string // lines of indirect requirements, from the checkout
}

const newLong = `Write a plugin of your own to ./NAME: a tool, its test, and a Makefile. It builds
and its test passes at once. An existing ./NAME is never touched.

A toolhost that was built from a checkout uses that checkout for the SDK, by a
replace directive; --replace names another one. A released toolhost uses the
released SDK of its own version.`

func (a *app) newCommand() *cobra.Command {
	var module, replace string
	cmd := &cobra.Command{
		Use:     "new NAME",
		Short:   "Write a plugin of your own, ready to build",
		Long:    newLong,
		Example: "  toolhost new greeter && cd greeter && make",
		Args:    wants(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := newScaffold(args[0], module, replace)
			if err != nil {
				return err
			}
			files, err := s.write(args[0])
			if err != nil {
				return err
			}
			return a.scaffolded(args[0], s, files)
		},
	}
	cmd.Flags().StringVar(&module, "module", "", "module `PATH` of the plugin; default example.com/toolplugin-NAME")
	cmd.Flags().StringVar(&replace, "replace", "", "use the SDK in `DIR`, a checkout of toolhost")
	return cmd
}

func (a *app) scaffolded(dir string, s scaffold, files []string) error {
	sdk := s.SDK + " " + s.Version
	if s.Replace != "" {
		sdk = s.Replace + " (a checkout; see the replace directive in go.mod)"
	}
	if a.json {
		return writeJSON(a.out, struct {
			Dir   string   `json:"dir"`
			Files []string `json:"files"`
			SDK   string   `json:"sdk"`
		}{dir, files, sdk})
	}
	_, err := fmt.Fprintf(a.out, "%s: %s\nSDK: %s\nnext: cd %s && make\n", dir, strings.Join(files, " "), sdk, dir)
	return err
}

// newName admits what is a file name, a tool id and a word in a Makefile at once (T43).
var (
	newName   = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	newModule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)
)

func newScaffold(name, module, replace string) (scaffold, error) {
	if len(name) > 40 || !newName.MatchString(name) {
		return scaffold{}, usagef("new: %q is no plugin name: want up to 40 lower case letters, digits and single dashes, such as file-search", name)
	}
	if module == "" {
		module = "example.com/" + wire.BinaryPrefix + name
	}
	if !newModule.MatchString(module) {
		return scaffold{}, usagef("new: --module %q is no module path", module)
	}
	s := scaffold{Name: name, Module: module, SDK: wire.Module, Go: "1.26.0"}
	if replace == "" {
		var err error
		if s.Version, replace, err = ownSDK(); err != nil {
			return s, err
		}
		if replace == "" {
			return s, nil
		}
	}
	return s, s.useCheckout(replace)
}

// ownSDK says which SDK belongs to this binary: a released version if it came from one, else the checkout
// that it was built from.
func ownSDK() (version, checkout string, err error) {
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Path == wire.Module && info.Main.Sum != "" {
		return info.Main.Version, "", nil
	}
	var starts []string
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) { // not with -trimpath
		starts = append(starts, filepath.Dir(file))
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if isCheckout(dir) {
				return "", dir, nil
			}
		}
	}
	return "", "", usagef("new: this toolhost is no release, and the checkout that it was built from is gone; name one with --replace DIR")
}

func isCheckout(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modulePath(text) == wire.Module
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)

func modulePath(gomod []byte) string {
	if m := moduleLine.FindSubmatch(gomod); m != nil {
		return string(m[1])
	}
	return ""
}

// useCheckout takes the SDK from dir, and the versions of its dependencies with it, so that no network is
// needed.
func (s *scaffold) useCheckout(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if !isCheckout(dir) {
		return usagef("new: %s is no checkout of %s", dir, wire.Module)
	}
	if strings.ContainsAny(dir, " \t\n\"'`") {
		return usagef("new: go.mod cannot hold the path %q; name a checkout without blanks and quotes", dir)
	}
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	var lines []string
	for _, m := range requireLine.FindAllSubmatch(gomod, -1) {
		lines = append(lines, fmt.Sprintf("\t%s %s // indirect", m[1], m[2]))
	}
	s.Version, s.Replace, s.Require = "v0.0.0", dir, strings.Join(lines, "\n")
	if m := goLine.FindSubmatch(gomod); m != nil {
		s.Go = string(m[1])
	}
	return nil
}

var (
	requireLine = regexp.MustCompile(`(?m)^(?:require)?\s+([a-z][\w.-]*\.[a-z]+/\S+|[a-z][\w-]*\.[\w.-]+)\s+(v[0-9]\S*)`)
	goLine      = regexp.MustCompile(`(?m)^go\s+([0-9.]+)`)
)

// write makes dir, which must not exist, and fills it. If something fails, dir is taken away again.
func (s scaffold) write(dir string) (files []string, err error) {
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, usagef("new: ./%s is there already; it is not touched", dir)
	} else if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	all, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"go.mod", "main.go", "main_test.go", "README.md", "Makefile"} {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, name+".tmpl", s); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	if s.Replace == "" {
		return files, nil
	}
	sums, err := os.ReadFile(filepath.Join(s.Replace, "go.sum"))
	if err != nil {
		return nil, err
	}
	return append(files, "go.sum"), os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
}
