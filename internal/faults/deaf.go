//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// deaf are the plugins that do not hear.
func deaf() []fault {
	return []fault{
		called("sigstop", "stops itself with SIGSTOP", func(context.Context, Input) (Output, error) {
			if os.Getpid() == 1 {
				return Output{}, errors.New("nothing stops process 1 of a pid namespace from within")
			}
			err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			time.Sleep(holdLife) // this thread may run on for a moment
			return Output{}, err
		}),
		called("ignore-cancel", "goes on for 30 s when it is cancelled", func(context.Context, Input) (Output, error) {
			time.Sleep(holdLife)
			return Output{"went on"}, nil
		}),
		wired("ignore-sigterm", "answers, and then neither heeds SIGTERM nor the end of its lifeline", raw{
			deaf: func() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP); select {} },
		}),
	}
}
