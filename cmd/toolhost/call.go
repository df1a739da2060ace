package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/proto/wire"
)

const callLong = `Call a tool and print its output as the tool returned it, with a line end.

INPUT is JSON; if it is omitted the input is {}, and - reads it from stdin. With
--stream, stdin is forwarded piece by piece as it arrives, as a model writes it.

A call that needs an approval is asked about on the terminal, if stderr is one.
--approve and --deny answer the first question of the call in advance. A call
that still waits ends with exit code 9, and what it waits for is printed as JSON,
or written to --save, for toolhost resume; with --events it is in the last event.
With --save nothing is asked.

Exit codes: 0 ok, 1 internal, 2 usage, 3 no such tool, 4 invalid input,
5 invalid output, 6 denied, 7 the tool failed, 8 the plugin is not available,
9 suspended or waiting for an approval, 10 timed out, 130 cancelled.`

// callFlags are the flags of the call command.
type callFlags struct {
	jobFlags
	stream, approve bool
	context, deny   string
	denied          bool // --deny was given, perhaps without a reason
}

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call TOOL [INPUT | -]",
		Short: "Call a tool",
		Long:  callLong,
		Example: `  toolhost call weather '{"location":"Berlin"}'
  echo '{"location":"Berlin"}' | toolhost call weather - --timeout 10s
  toolhost call delete '{"path":"x"}' --save waiting.json; toolhost resume waiting.json --approve`,
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
	flags.StringVar(&f.context, "context", "", "request context, a `JSON` object")
	flags.BoolVar(&f.approve, "approve", false, "approve the call if it needs an approval")
	flags.StringVar(&f.deny, "deny", "", "deny the call, for this `REASON`, if it needs an approval or an answer")
	f.define(flags)
	return cmd
}

func (f *callFlags) check(cmd *cobra.Command, args []string) error {
	f.denied = cmd.Flags().Changed("deny")
	switch {
	case f.stream && len(args) == 2 && args[1] != "-":
		return usagef("call: --stream reads the input from stdin; leave INPUT out")
	case f.approve && f.denied:
		return usagef("call: --approve and --deny contradict each other")
	}
	return f.jobFlags.check(cmd)
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
	j := &job{app: a, host: h, flags: f.jobFlags, approve: f.approve, deny: f.denied, reason: f.deny}
	defer j.end()
	if f.stream {
		j.feed = func(r *host.Running) { forward(a.stdin, r) }
	}
	return j.run(ctx, call)
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
