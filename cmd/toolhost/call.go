package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/proto/wire"
)

const callLong = `Call a tool and print its output as the tool returned it, with a line end.

INPUT is JSON; if it is omitted the input is {}, and - reads it from stdin. With
--stream, stdin is forwarded piece by piece as it arrives, as a model writes it.

Exit codes: 0 ok, 1 internal, 2 usage, 3 no such tool, 4 invalid input,
5 invalid output, 6 denied, 7 the tool failed, 8 the plugin is not available,
9 suspended, 10 timed out, 130 cancelled.`

// callFlags are the flags of the call command.
type callFlags struct {
	stream, events, raw bool
	context             string
	timeout             time.Duration
}

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call TOOL [INPUT | -]",
		Short: "Call a tool",
		Long:  callLong,
		Example: `  toolhost call weather '{"location":"Berlin"}'
  echo '{"location":"Berlin"}' | toolhost call weather - --timeout 10s`,
		Args:              wants(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return a.call(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.stream, "stream", false, "forward stdin as input deltas as it arrives")
	flags.BoolVar(&f.events, "events", false, "print one JSON event a line in place of the output")
	flags.BoolVar(&f.raw, "raw", false, "with --events: the raw form in place of the display form")
	flags.StringVar(&f.context, "context", "", "request context, a `JSON` object")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after `D`, such as 10s; default: the tool's own or the host's limit")
	return cmd
}

func (f *callFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case f.stream && len(args) == 2 && args[1] != "-":
		return usagef("call: --stream reads the input from stdin; leave INPUT out")
	case f.raw && !f.events:
		return usagef("call: --raw needs --events; without it the output is always the raw one")
	case cmd.Flags().Changed("timeout") && f.timeout <= 0:
		return usagef("call: --timeout %s: want a time above zero, such as 10s", f.timeout)
	}
	return nil
}

func (a *app) call(ctx context.Context, f callFlags, args []string) error {
	h, cfg, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer a.closeHost(h)
	call := host.Call{Tool: args[0]}
	if f.context != "" {
		call.Context = []byte(f.context)
	}
	if !f.stream {
		if call.Input, err = a.input(args[1:], cfg.Limits.Input); err != nil {
			return err
		}
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	if f.raw {
		call.View = host.Raw
	}
	running := h.Start(ctx, call)
	if f.stream {
		// Ends at the end of stdin, or with the process: a read that nothing arrives for cannot be taken back.
		go forward(a.stdin, running)
	}
	if err := a.watch(running, args[0], f); err != nil {
		return err
	}
	result, err := running.Result()
	if err != nil {
		return err
	}
	for _, w := range result.Warnings {
		a.warn("call %s: %s", args[0], w)
	}
	if f.events {
		return nil
	}
	return a.document(result.Output)
}

// input returns the whole input. Of stdin it reads no more than a message can hold, or limit if that is more,
// and one byte, so that the host refuses a longer text.
func (a *app) input(args []string, limit int) ([]byte, error) {
	switch {
	case len(args) == 0:
		return []byte("{}"), nil
	case args[0] != "-":
		return []byte(args[0]), nil
	}
	text, err := io.ReadAll(io.LimitReader(a.stdin, int64(max(limit, wire.MaxMessage))+1))
	if err != nil {
		return nil, fmt.Errorf("call: stdin: %w", err)
	}
	if text == nil {
		text = []byte{} // nil would mean that it comes later
	}
	return text, nil
}

const readSize = 32 << 10 // bytes of stdin in one delta at most

// forward hands stdin to the call: every read is one delta, at once.
func forward(stdin io.Reader, running *host.Running) {
	buf := make([]byte, readSize)
	for {
		n, err := stdin.Read(buf)
		if n > 0 && running.Delta(buf[:n]) != nil {
			return // the call is over; its outcome says why
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = running.EndInput() // fails only if the call is over
			return
		case err != nil:
			running.Cancel(fmt.Errorf("stdin: %w", err))
			return
		}
	}
}

// watch prints the events or shows the progress until the call is over. Leaving it early cancels the call.
func (a *app) watch(running *host.Running, tool string, f callFlags) error {
	bar := progress{out: a.err, tool: tool}
	quiet := a.json || f.events && a.out.tty
	defer bar.done()
	for e := range running.Events() {
		if p, ok := e.(host.Progress); ok && !quiet {
			bar.report(p)
		}
		if !f.events {
			continue
		}
		line, err := host.MarshalEvent(e)
		if err != nil {
			return err
		}
		if err := a.out.JSON(append(line, '\n')); err != nil {
			return fmt.Errorf("call: stdout: %w", err)
		}
	}
	return nil
}
