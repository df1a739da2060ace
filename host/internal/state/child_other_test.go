//go:build !linux

package state

import "syscall"

func slowFork() *syscall.SysProcAttr { return nil }

func childLinux(*Dir, string, []string) {}
