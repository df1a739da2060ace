//go:build linux

package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/proto/wire"
)

// fault is one evil, and a plugin by that name with one tool of the same name.
type fault struct {
	name string
	does string            // what it does, in words that complete "It ..."
	main func(name string) // of the plugin's process
}

// all returns the faults by name.
func all() []fault {
	list := slices.Concat(healthy(), crashes(), floods(), hogs(), leaks(), starts(), deaf(), families(), answers(), sessions(), manifests())
	slices.SortFunc(list, func(a, b fault) int { return cmp.Compare(a.name, b.name) })
	return list
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		runChild(os.Args[2:])
		return
	}
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), wire.BinaryPrefix)
	for _, f := range all() {
		if f.name == name {
			f.main(name)
			return
		}
	}
	if err := byHand(); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// byHand installs the plugins, or lists them.
func byHand() error {
	dir := flag.String("install", "", "write every plugin to `DIR`")
	flag.Parse()
	if *dir != "" {
		return install(*dir)
	}
	for _, f := range all() {
		if _, err := fmt.Printf("%-20s %s\n", f.name, f.does); err != nil {
			return err
		}
	}
	return nil
}

// install writes every plugin to dir, and removes the plugins there that are no fault any more.
func install(dir string) error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, wire.BinaryPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, f := range all() {
		if err := f.install(dir, self); err != nil {
			return err
		}
	}
	fmt.Printf("%d plugins in %s\n", len(all()), dir)
	return nil
}

// install writes the program and, behind its end, where a loader does not look, the fault's name.
func (f fault) install(dir string, program []byte) error {
	text := bytes.Join([][]byte{program, []byte("\nfault: " + f.name + "\n")}, nil)
	return os.WriteFile(filepath.Join(dir, wire.BinaryPrefix+f.name), text, 0o755)
}
