//go:build unix

package host_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// eventRows says of every event when it comes, and which form its data have.
var eventRows = []struct {
	event host.Event
	when  string
}{
	{host.InputStart{}, "the model begins to write the input"},
	{host.InputDelta{}, "a piece of the input's text, whole runes only; left out where a view or a sensitive property hides it"},
	{host.InputEnd{}, "the input's text is complete"},
	{host.CallStarted{}, "the input is accepted: parsed, repaired, valid, seen by the Before hooks"},
	{host.CallResumed{}, "a suspended call goes on, in place of tool-call"},
	{host.Progress{}, "the tool reports progress; a slow reader sees the latest"},
	{host.Output{}, "a piece of custom output; none is skipped"},
	{host.ResultEvent{}, "**end**: the call succeeded"},
	{host.ErrorEvent{}, "**end**: the call failed; the error is the error object of the command line"},
	{host.DeniedEvent{}, "**end**: policy, a hook or a person said no; the tool did not run"},
	{host.ApprovalEvent{}, "**end** of this round: the call waits for an approval"},
	{host.SuspendedEvent{}, "**end** of this round: the call waits for data"},
}

// TestEventsDocument holds docs/events.md against the types; -update writes it.
func TestEventsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Events

A call's events, as ` + "`Running.Events`, `Host.CallAll` and `call --events`" + ` give them. Each is one flat JSON object with ` + "`type`, `toolCallId` and `toolName`" + `, and
carries its data in one form only: that of ` + "`Call.View`" + ` (display, transcript or raw). Every call has exactly one event that ends it, the last one.

| type | further members | when |
|---|---|---|
`)
	for _, row := range eventRows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", host.EventType(row.event), members(reflect.TypeOf(row.event)), row.when)
	}
	b.WriteString(`
In the display and transcript forms, values whose schema says ` + "`x-sensitive` or `writeOnly`" + ` are masked where nothing else is configured. Where the host's
Transform or the tool's own views are configured and make no form, or fail, a placeholder takes the place of the data.
`)
	const path = "../docs/events.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(have)); diff != "" {
		t.Errorf("docs/events.md is not what the types say: go test ./host -run EventsDocument -update\n%s", diff)
	}
}

// members lists the JSON members of an event beside the common ones.
func members(t reflect.Type) string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); !f.Anonymous {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if names = append(names, "`"+name+"`"); strings.Contains(options, "omitempty") {
				names[len(names)-1] += "?"
			}
		}
	}
	return strings.Join(names, ", ")
}
