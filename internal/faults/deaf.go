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
			if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
				return Output{}, err
			}
			time.Sleep(soon)
			return Output{}, errors.New("nothing stops process 1 of a pid namespace from within")
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
