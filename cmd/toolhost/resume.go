package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

const resumeLong = `Answer a call that waits, and print its output.

FILE is what toolhost call printed or wrote to --save; ID is one that toolhost
pending lists. The call runs here, with the --plugins and --config given here, and
its output is printed here: an MCP client that made it is not told. The file is never changed, and an answer counts once: a second one
ends with exit code 4 and says what became of the first. Data that breaks the
resume schema ends with exit code 4 too, and the call still waits. An answer of
the wrong kind is a usage error, and the call still waits.

If the call waits again, what it waits for is printed as JSON, or written to
--save, and the exit code is 9. The other exit codes are those of toolhost call.`

// resumeFlags are the flags of the resume command.
type resumeFlags struct {
	jobFlags
	approve    bool
	deny, data string
}

func (a *app) resumeCommand() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume {FILE | ID} {--approve | --deny REASON | --data JSON}",
		Short: "Answer a call that waits",
		Long:  resumeLong,
		Example: `  toolhost resume waiting.json --approve
  toolhost resume waiting.json --data '{"seat":"12A"}' --save next.json
  toolhost resume 4XWB2ZDPN7M3QJ5CVK6TLRHAYE --deny "not on a Friday"`,
		Args: wants(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			set := cmd.Flags().Changed
			given := 0
			for _, name := range []string{"approve", "deny", "data"} {
				if set(name) {
					given++
				}
			}
			if given != 1 || set("approve") && !f.approve {
				return usagef("resume: want one of --approve, --deny REASON and --data JSON")
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.resume(cmd.Context(), f.jobFlags, args[0], func(s *host.Suspension) host.Call {
				switch {
				case f.approve:
					return s.Approve()
				case set("deny"):
					return s.Deny(f.deny)
				}
				return s.Resume([]byte(f.data))
			})
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.approve, "approve", false, "approve the call")
	flags.StringVar(&f.deny, "deny", "", "deny the call, for this `REASON`")
	flags.StringVar(&f.data, "data", "", "go on with this `JSON`")
	f.define(flags)
	return cmd
}

func (a *app) resume(ctx context.Context, f jobFlags, arg string, answer func(*host.Suspension) host.Call) error {
	h, _, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer a.closeHost(h)
	s, err := findSuspension(h, arg)
	if err != nil {
		return err
	}
	j := &job{app: a, host: h, flags: f}
	defer j.end()
	return resumeError(s, j.run(ctx, answer(&s)))
}

// resumeError puts the host's refusal of an answer into the command line's terms.
func resumeError(s host.Suspension, err error) error {
	e, ok := errors.AsType[*host.Error](err)
	if !ok {
		return err
	}
	if e.Code == host.NotFound { // a suspension of no tool is no suspension
		return &host.Error{
			Op: "resume", Tool: s.Tool, Code: host.InvalidResume, Outcome: e.Outcome,
			Err: &host.ResumeError{Reason: "foreign", Err: fmt.Errorf("%w; resume wants the --plugins and --config with which the call was made", err)},
		}
	}
	if why, ok := errors.AsType[*host.ResumeError](err); ok && why.Reason == "wrong_kind" {
		return usagef("resume: %w; the call still waits", why.Err)
	}
	return err
}
