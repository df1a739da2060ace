package main

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/host"
)

// recovery compares the time from kill -9 to the next good answer with a plain start of the same plugin by an open host.
func recovery(o *options) ([]report.Row, error) {
	victim, err := host.Open(context.Background(), o.hostOf(1, host.ProfileNone))
	if err != nil {
		return nil, err
	}
	defer func() { _ = victim.Close() }()
	took, err := measure.InTurn(o.pick(41, 15),
		func() (time.Duration, error) { return launched(o) },
		func() (time.Duration, error) { return recovered(victim) })
	if err != nil {
		return nil, err
	}
	return []report.Row{{Group: "A plugin's death", Name: "kill -9 to the next good answer", Value: ms(measure.Median(took[1])), Unit: "ms",
		Than: "start by an open host", Other: ms(measure.Median(took[0])), Target: report.AtMost(1.5, 0)}}, nil
}

// launched is the time from an open host without a process to its first answer.
func launched(o *options) (time.Duration, error) {
	h, err := host.Open(context.Background(), o.hostOf(1, host.ProfileNone))
	if err != nil {
		return 0, err
	}
	defer func() { _ = h.Close() }()
	begun := time.Now()
	err = ask(h, 0)
	return time.Since(begun), err
}

// recovered kills the plugin's process and calls until an answer is good. Calls that were sent to a process that was dead
// already fail meanwhile: they are not repeated (C3).
func recovered(h *host.Host) (time.Duration, error) {
	if err := ask(h, 0); err != nil {
		return 0, err
	}
	pid := pids(h)[0]
	begun := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, err
	}
	for {
		err := ask(h, 0)
		if err == nil {
			break
		}
		if code, _ := host.CodeOf(err); code != host.Unavailable {
			return 0, err
		}
	}
	took := time.Since(begun)
	if again := pids(h); again[0] == pid {
		return 0, errors.New("the killed process answered")
	}
	return took, nil
}

// pids are the processes of a host's plugins.
func pids(h *host.Host) []int {
	var all []int
	for p := range h.Plugins() {
		all = append(all, p.PID)
	}
	return all
}
