//go:build !linux

package state

func childLinux(*Dir, string) {}
