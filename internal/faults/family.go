//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// families are what a process does with other programs.
func families() []fault {
	return []fault{
		called("grandchild-pipes", "starts a process that holds its pipes, and exits with status 3", func(context.Context, Input) (Output, error) {
			if _, err := startChild(false, "hold"); err != nil {
				return Output{}, err
			}
			os.Exit(3)
			return Output{}, nil
		}),
		called("grandchild-setsid", "starts a process that holds its pipes and leaves its session", func(context.Context, Input) (Output, error) {
			pid, err := startChild(true, "hold")
			return Output{fmt.Sprintf("started process %d", pid)}, err
		}),
		called("exec", "turns into another program", func(context.Context, Input) (Output, error) {
			return Output{}, syscall.Exec("/proc/self/exe", []string{os.Args[0], childArg, "hold"}, os.Environ())
		}),
	}
}

// childArg is the first argument of this program as another process of a fault.
const childArg = "evil-child"

// holdLife is how long a process stays that is meant to be killed.
const holdLife = 30 * time.Second

// startChild starts this program with all that this process has open; nobody waits for it.
func startChild(setsid bool, args ...string) (pid int, err error) {
	return syscall.ForkExec("/proc/self/exe", append([]string{os.Args[0], childArg}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: setsid},
	})
}

// runChild is the main function of such a process.
func runChild(args []string) {
	switch args[0] {
	case "hold": // deaf
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		time.Sleep(holdLife)
	case "brief":
		time.Sleep(holdLife / 3)
	case "bomb":
		if depth, err := strconv.Atoi(args[1]); err == nil && depth > 0 && depth <= bombDepth {
			_ = split(depth) // a limit that stops it here has done its work
		}
		time.Sleep(bombLife)
	}
}
