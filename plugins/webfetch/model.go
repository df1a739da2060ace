package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/webfetch/internal/fetch"
	"github.com/toolhost/toolhost/pluginsdk"
)

// modelOutput shows the model a short head and the content as text: JSON would escape every line end and
// quote of it.
func modelOutput(_ context.Context, in fetch.Input, out fetch.Output) (pluginsdk.ModelOutput, error) {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(strings.Fields(value), " "))
		}
	}
	line("Title", out.Title)
	line("URL", out.URL)
	if !out.OK {
		line("Status", fmt.Sprintf("%d %s", out.Status, out.StatusText))
	}
	line("Part", part(in, out))
	line("Note", out.Note)
	fmt.Fprintf(&b, "\n%s\n", out.Content)
	if len(out.Links) > 0 {
		b.WriteString("\nLinks:\n")
	}
	for _, l := range out.Links {
		fmt.Fprintf(&b, "- %s %s\n", l.URL, l.Text)
	}
	if out.LinksOmitted > 0 {
		fmt.Fprintf(&b, "and %d more\n", out.LinksOmitted)
	}
	return pluginsdk.Text(b.String()), nil
}

// part says which part of the page this is and how to go on; empty if it is all of it.
func part(in fetch.Input, out fetch.Output) string {
	of := "a page that is longer than what is read"
	if out.TotalChars != nil {
		of = fmt.Sprint(*out.TotalChars)
	}
	switch {
	case out.NextOffset != nil:
		return fmt.Sprintf("characters %d to %d of %s; go on with offset %d", in.Offset, *out.NextOffset, of, *out.NextOffset)
	case out.Truncated:
		return "the end of what is read; the page is longer"
	case in.Offset > 0:
		return fmt.Sprintf("characters from %d of %s; this is the end", in.Offset, of)
	}
	return ""
}
