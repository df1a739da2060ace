package main

import (
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/confine"
)

// asHelper reports whether this program was started to act as toolhost-sandbox, which it does where that is
// not installed: a start takes some milliseconds longer then.
func asHelper() bool { return filepath.Base(os.Args[0]) == confine.Name }

// sandboxHelper is the program that makes sandboxes: the one beside this program, else this program.
func sandboxHelper() string {
	own, err := os.Executable()
	if err != nil {
		return "" // then the host says so, if one is needed
	}
	if beside := filepath.Join(filepath.Dir(own), confine.Name); exists(beside) {
		return beside
	}
	return own
}
