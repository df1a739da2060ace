package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

func (a *app) pendingCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pending",
		Short: "List the calls that wait for an approval or an answer; starts nothing",
		Long: `List the calls that wait for an approval or an answer, newest first. Answer one
with toolhost resume ID, and the --plugins and --config of the call. With --json each
one is as toolhost call prints it.`,
		Args: wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, _, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer a.closeHost(h)
			waiting, err := h.Pending()
			if err != nil {
				return err
			}
			return a.pending(waiting)
		},
	}
}

func (a *app) pending(waiting []host.Suspension) error {
	if a.json {
		if waiting == nil {
			waiting = []host.Suspension{}
		}
		return writeJSON(a.out, waiting)
	}
	if len(waiting) == 0 {
		a.warn("no call waits")
		return nil
	}
	var b strings.Builder
	for i, s := range waiting {
		if i > 0 {
			b.WriteByte('\n')
		}
		a.describeWaiting(&b, s)
	}
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// describeWaiting writes one call that waits: its id, and indented below what is known of it. What a plugin wrote is on one
// line.
func (a *app) describeWaiting(b *strings.Builder, s host.Suspension) {
	fact := func(name, value string) {
		if columns := a.out.columns(); columns > 0 {
			value = clip(escapeText(value), max(minimum, columns-13))
		}
		fmt.Fprintf(b, "  %-10s %s\n", name, value)
	}
	fmt.Fprintln(b, s.ID)
	fact("tool", fmt.Sprintf("%s of plugin %s", s.Tool, s.Plugin))
	fact("waits for", map[host.Kind]string{host.KindApproval: "an approval", host.KindData: "data"}[s.Kind])
	for _, reason := range s.Reasons {
		fact("because", reason)
	}
	fact("until", s.Expires.Local().Format(time.DateTime))
	fact("hash", shortHash(s))
	shown, err := canonical(s.Display)
	if err != nil {
		shown = s.Display
	}
	fact("shown", string(shown))
}
