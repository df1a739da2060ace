package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/proto/wire"
)

// configName is the file that a directory can be configured by.
const configName = "toolhost.yaml"

// content is what a directory holds that is used while the directory is trusted (T51): its toolhost.yaml, its
// toolplugin-*, and the files below it that the configuration would start or hand to what it starts.
type content struct {
	Dir     string        // absolute, without links
	Files   []contentFile // by path
	File    *config.File  // nil: there is no toolhost.yaml
	Plugins []host.Plugin // the toolplugin-* that are plugins, with their hashes
	Skipped []error       // why others are none
}

// contentFile is one file of a content.
type contentFile struct {
	Path   string `json:"path"` // below the directory
	SHA256 string `json:"sha256"`
}

// readContent reads what a directory holds. It starts nothing.
func readContent(dir string) (*content, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	c := &content{Dir: abs}
	if err := c.readConfig(); err != nil {
		return nil, err
	}
	found, skipped := host.Discover(abs)
	c.Skipped = flatten(skipped)
	for _, p := range found {
		if p.SHA256, err = c.add(p.Path); err != nil {
			return nil, err
		}
		c.Plugins = append(c.Plugins, p)
	}
	slices.SortFunc(c.Files, func(a, b contentFile) int { return strings.Compare(a.Path, b.Path) })
	return c, nil
}

// readConfig reads toolhost.yaml once, so that what is hashed is what is used, and the files that it names.
func (c *content) readConfig() error {
	path := filepath.Join(c.Dir, configName)
	if !isFile(path) {
		return nil
	}
	text, err := readBounded(path, config.MaxSize)
	if err != nil {
		return err
	}
	c.note(path, text)
	if c.File, err = config.Parse(path, text); err != nil {
		return err
	}
	for i := range c.File.Plugins {
		p := &c.File.Plugins[i]
		if err := c.addArgs(c.Dir, p.Args); err != nil {
			return err
		}
		hash, err := c.addBelow(p.Path)
		if err != nil {
			return err
		}
		if p.SHA256 == "" {
			p.SHA256 = hash
		}
	}
	for _, s := range c.File.Servers {
		if _, err := c.addBelow(s.Command); err != nil {
			return err
		}
		if err := c.addArgs(cmp.Or(s.Cwd, c.Dir), s.Args); err != nil {
			return err
		}
	}
	return nil
}

// addArgs adds the files that arguments name.
func (c *content) addArgs(cwd string, args []string) error {
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=") // such as --script=./main.py
		for _, name := range []string{arg, value} {
			if name != "" && !filepath.IsAbs(name) {
				name = filepath.Join(cwd, name)
			}
			if _, err := c.addBelow(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// addBelow adds the file at path if there is one and it is below the directory.
func (c *content) addBelow(path string) (hash string, err error) {
	if path == "" || !isFile(path) {
		return "", nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if !below(c.Dir, path) && !below(c.Dir, real) {
		return "", nil
	}
	return c.add(path)
}

// add adds the file at path and returns its hash.
func (c *content) add(path string) (hash string, err error) {
	name := c.name(path)
	if i := slices.IndexFunc(c.Files, func(f contentFile) bool { return f.Path == name }); i >= 0 {
		return c.Files[i].SHA256, nil
	}
	if hash, err = hashFile(path); err != nil {
		return "", err
	}
	c.Files = append(c.Files, contentFile{name, hash})
	return hash, nil
}

// note adds a file of which the text is known.
func (c *content) note(path string, text []byte) {
	sum := sha256.Sum256(text)
	c.Files = append(c.Files, contentFile{c.name(path), hex.EncodeToString(sum[:])})
}

// name is the path of a file below the directory; the whole path of one that is there by a link only.
func (c *content) name(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil && below(c.Dir, path) {
		return rel
	}
	return path
}

// hash is the hash of all files and their names.
func (c *content) hash() string {
	text, err := json.Marshal(c.Files)
	if err != nil { // cannot happen: strings
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// empty reports whether there is nothing to trust.
func (c *content) empty() bool { return c.File == nil && len(c.Plugins) == 0 }

// isFile reports whether path leads to a regular file: nothing else is opened, which might wait for ever.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// below reports whether path is in dir.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// useWorkDir makes what the working directory holds part of the places, if it is trusted; if it holds something and is not, the
// notice says so.
func (p *places) useWorkDir() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return
	}
	what := p.offered(dir)
	if what == "" {
		return
	}
	dirs, err := host.OpenStateDir(p.state)
	if err != nil {
		return
	}
	hash, trusted, err := dirs.TrustedDir(dir)
	unused := func(why string) { p.notice = fmt.Sprintf("not used: %s in %s: %s", what, dir, why) }
	switch {
	case err != nil:
		unused("whether it is trusted cannot be known: " + err.Error())
		return
	case !trusted:
		unused("it is not trusted; toolhost trust shows what it holds and asks")
		return
	}
	c, err := readContent(dir)
	switch {
	case err != nil:
		unused("it changed since it was trusted: " + err.Error())
	case c.hash() != hash:
		unused("it changed since it was trusted; toolhost trust shows what it holds now and asks")
	default:
		p.work = c
		if c.File != nil && !p.configNamed {
			p.config = c.File.Path
		}
	}
}

// offered says what a directory holds that would be used if it were trusted; nothing if that is used anyway. It looks at names
// only.
func (p *places) offered(dir string) string {
	var what []string
	path := filepath.Join(dir, configName)
	if !p.configNamed && isFile(path) && !same(path, p.config) {
		what = append(what, configName)
	}
	used := slices.ContainsFunc(p.plugins, func(d string) bool { return same(dir, d) })
	if !used && hasPlugins(dir) {
		what = append(what, wire.BinaryPrefix+"*")
	}
	return strings.Join(what, " and ")
}

// hasPlugins reports whether files in dir are named like plugins.
func hasPlugins(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(256)
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, wire.BinaryPrefix) }) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// same reports whether two paths name one file or directory.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// load reads the configuration: the one that is named, else that of a trusted working directory, else the user's. If there is
// none, it is empty. One that others can change is refused: it says what runs.
func (p *places) load() (*config.File, error) {
	if p.work != nil && p.work.File != nil && !p.configNamed {
		return p.work.File, nil
	}
	if !p.configNamed && (p.config == "" || !exists(p.config)) {
		return &config.File{}, nil
	}
	if bad, ok := errors.AsType[*host.PlaceError](host.CheckPlace(p.config)); ok {
		return nil, usagef("configuration %s: %w", p.config, bad)
	}
	file, err := config.Load(p.config)
	if err != nil {
		return nil, configError(err)
	}
	return file, nil
}

func configError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return usagef("configuration %s: %w", path.Path, path.Err)
	}
	return err
}
