//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// fleet is a directory of plugins, all copies of one binary with a stamp of their own.
type fleet struct {
	base  string // the binary that is copied
	dir   string // bin, journals, state and temporary files are below it
	args  []string
	names []string
}

// newFleet writes n plugins below dir. args come before what every plugin is given.
func newFleet(base, dir string, n int, args ...string) (*fleet, error) {
	f := &fleet{base: base, dir: dir, args: args}
	for _, sub := range []string{f.bin(), f.journals(), f.state()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, err
		}
	}
	for i := range n {
		name := fmt.Sprintf("p%02d", i)
		f.names = append(f.names, name)
		if err := f.write(subject.Stamp{Plugin: name, Version: 1}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *fleet) bin() string                { return filepath.Join(f.dir, "bin") }
func (f *fleet) journals() string           { return filepath.Join(f.dir, "journals") }
func (f *fleet) state() string              { return filepath.Join(f.dir, "state") }
func (f *fleet) path(name string) string    { return filepath.Join(f.bin(), "toolplugin-"+name) }
func (f *fleet) journal(name string) string { return filepath.Join(f.journals(), name) }

// mark is in the command line of every process of the fleet.
func (f *fleet) mark() string { return f.dir }

// plugins are the fleet's entries in a host's configuration.
func (f *fleet) plugins() []host.Plugin {
	var all []host.Plugin
	for _, name := range f.names {
		args := append(append([]string(nil), f.args...), f.journal(name), f.mark())
		all = append(all, host.Plugin{Name: name, Path: f.path(name), Args: args})
	}
	return all
}

// write puts a version of a plugin in its place, as an installer does: a new file, then a rename (L8).
func (f *fleet) write(s subject.Stamp) (err error) {
	src, err := os.Open(f.base)
	if err != nil {
		return err
	}
	defer src.Close()
	tmp := filepath.Join(f.bin(), "."+s.Plugin+".new")
	dst, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		_, err = dst.Write(s.Bytes())
	}
	if err := errors.Join(err, dst.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, f.path(s.Plugin))
}

// corrupt damages a plugin's binary in place, as a bad disk or a careless copy does: its first bytes, or all that is
// behind the middle, or everything.
func (f *fleet) corrupt(name string, how int) error {
	file, err := os.OpenFile(f.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	switch how % 3 {
	case 0:
		_, err = file.WriteAt([]byte("this is not a program\n"), 0)
	case 1:
		info, serr := file.Stat()
		if err = serr; err == nil {
			err = file.Truncate(info.Size() / 2)
		}
	default:
		err = file.Truncate(0)
	}
	return errors.Join(err, file.Close())
}
