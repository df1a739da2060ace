//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Getuid()
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// othersMay reports whether anybody else has a right to the file.
func othersMay(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
