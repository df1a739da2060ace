package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host"
)

// jobFlags are what call and resume have in common.
type jobFlags struct {
	events, raw bool
	timeout     time.Duration
	save        string
}

func (f *jobFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.save, "save", "", "if the call waits, write what it waits for to `FILE`, a new one, and ask nothing")
	flags.BoolVar(&f.events, "events", false, "print one JSON event a line in place of the output")
	flags.BoolVar(&f.raw, "raw", false, "with --events: the raw form in place of the display form")
	flags.DurationVar(&f.timeout, "timeout", 0,
		"give up after `D`, such as 10s, without the time for which a person is asked; default: the tool's own or the host's limit")
}

func (f *jobFlags) check(cmd *cobra.Command) error {
	switch {
	case f.raw && !f.events:
		return usagef("%s: --raw needs --events; without it the output is always the raw one", cmd.Name())
	case cmd.Flags().Changed("timeout") && f.timeout <= 0:
		return usagef("%s: --timeout %s: want a time above zero, such as 10s", cmd.Name(), f.timeout)
	case cmd.Flags().Changed("save"):
		return mayCreate(f.save)
	}
	return nil
}

// job is one call of the command line, with the rounds that it is answered in.
type job struct {
	app   *app
	host  *host.Host
	flags jobFlags
	feed  func(*host.Running) // hands the input over as it arrives; nil: it is given

	// The answer in advance. It is for one round, the first that waits: what comes later was not known to
	// whoever gave it.
	approve, deny bool
	reason        string

	device *device // where a person is asked; nil: nobody is
	opened bool
}

// run makes the call, answers what it waits for, and prints the outcome.
func (j *job) run(ctx context.Context, call host.Call) error {
	limit := newAllowance(ctx, j.flags.timeout)
	defer limit.end()
	for {
		result, err := j.round(limit, call)
		waiting, waits := errors.AsType[*host.SuspendedError](err)
		if !waits {
			if err != nil {
				return err
			}
			return j.print(call.Tool, result)
		}
		next, err2 := j.answer(limit, waiting.Suspension)
		if err2 != nil {
			return err2
		}
		if next == nil {
			return j.leave(waiting.Suspension, err)
		}
		call = *next
	}
}

// round makes the call until its outcome, or until it waits.
func (j *job) round(limit *allowance, call host.Call) (*host.Result, error) {
	call.Caller = caller()
	if j.flags.raw {
		call.View = host.Raw
	}
	if d := j.terminal(); d != nil {
		call.Elicit = j.elicit(limit, d, call.Tool)
	}
	if call.Input == nil && j.feed == nil {
		call.Input = json.RawMessage("{}") // nil would mean that it comes later; an answered call has its own
	}
	running := j.host.Start(limit.ctx, call)
	if j.feed != nil {
		// Ends at the end of stdin, or with the process: a read that nothing arrives for cannot be taken back.
		go j.feed(running)
		j.feed = nil
	}
	shown, err := j.watch(running, call.Tool)
	if err != nil {
		return nil, err
	}
	result, err := running.Result()
	if err != nil && shown != nil {
		err = shown
	}
	return result, err
}

// watch prints the events or shows the progress until the round is over. Leaving it early cancels the call. shown is the
// round's error in the form of the events, if there are any: stderr must not say what they hide.
func (j *job) watch(running *host.Running, tool string) (shown error, err error) {
	a := j.app
	bar := progress{out: a.err, tool: tool}
	quiet := a.json || j.flags.events && a.out.tty
	defer bar.done()
	for e := range running.Events() {
		if p, ok := e.(host.Progress); ok && !quiet {
			bar.report(p)
		}
		if !j.flags.events {
			continue
		}
		if failed, ok := e.(host.ErrorEvent); ok {
			shown = failed.Err
		}
		line, err := host.MarshalEvent(e)
		if err != nil {
			return nil, err
		}
		if err := a.out.JSON(append(line, '\n')); err != nil {
			return nil, fmt.Errorf("stdout: %w", err)
		}
	}
	return shown, nil
}

// answer returns the call that goes on with what waits; nil: nobody answers now.
func (j *job) answer(limit *allowance, s host.Suspension) (*host.Call, error) {
	approve, deny := j.approve && s.Kind == host.KindApproval, j.deny
	j.approve, j.deny = false, false
	var next host.Call
	switch {
	case approve:
		next = s.Approve()
	case deny:
		next = s.Deny(j.reason)
	case s.Kind != host.KindApproval || j.flags.save != "" || j.terminal() == nil:
		return nil, nil
	default:
		defer limit.pause()()
		yes, err := j.ask(limit.ctx, s)
		switch {
		case errors.Is(err, errNobody):
			return nil, nil
		case err != nil:
			return nil, err
		case yes:
			next = s.Approve()
		default:
			next = s.Deny("no, at the terminal")
		}
	}
	return &next, nil
}

// leave hands out what the call waits for. err is the round's.
func (j *job) leave(s host.Suspension, err error) error {
	a := j.app
	how := "--data JSON"
	if s.Kind == host.KindApproval {
		how = "--approve"
	}
	where := s.ID
	if j.flags.save != "" {
		saveErr := writeSuspension(j.flags.save, s)
		if saveErr == nil {
			where = j.flags.save
		} else {
			a.warn("%v; it is printed instead", saveErr)
			j.flags.save = ""
		}
	}
	if j.flags.save == "" && !j.flags.events { // with --events the last event holds it
		if err := writeJSON(a.out, s); err != nil {
			return fmt.Errorf("stdout: %w", err)
		}
	}
	return fmt.Errorf("%w; answer with: toolhost resume %s (%s | --deny REASON)", err, where, how)
}

// print prints the output of a call that succeeded.
func (j *job) print(tool string, result *host.Result) error {
	for _, w := range result.Warnings {
		j.app.warn("call %s: %s", tool, w)
	}
	if j.flags.events {
		return nil
	}
	return j.app.document(result.Output)
}

// terminal is where a person can be asked; nil if there is none.
func (j *job) terminal() *device {
	if !j.opened {
		j.opened = true
		j.device = j.app.openDevice()
	}
	return j.device
}

// end closes what the job opened.
func (j *job) end() {
	if j.device != nil {
		j.device.close()
	}
}

// document writes a JSON text byte for byte, and ends the line.
func (a *app) document(text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	if text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	return a.out.JSON(text)
}
