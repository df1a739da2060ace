package main

import (
	"errors"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

func TestSevereIssueWaitsForAnAssignee(t *testing.T) {
	h := plugintest.Open(t, create)
	_, err := h.Call(t.Context(), host.Call{Tool: "issue_create", Input: []byte(`{"title": "fire", "severity": "high"}`)})
	waits, suspended := errors.AsType[*host.SuspendedError](err)
	if !suspended || waits.Suspension.Kind != host.KindData {
		t.Fatal(err)
	}
	res, err := h.Call(t.Context(), waits.Suspension.Resume([]byte(`{"assignee": "ada"}`)))
	if err != nil || string(res.Output) != `{"number":7,"assignee":"ada"}` || res.Model.Text() != "issue 7 (high) is filed" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestApprovalAndFailures(t *testing.T) {
	h := plugintest.Open(t, create)
	for input, want := range map[string]host.Code{
		`{"title": "x", "labels": ["a", "b", "c"]}`: host.Suspended,
		`{"title": ""}`:                   host.InvalidInput,
		`{"title": "x", "severity": "?"}`: host.InvalidInput,
		`{"title": "everything"}`:         host.ToolFailed,
	} {
		_, err := h.Call(t.Context(), host.Call{Tool: "issue_create", Input: []byte(input)})
		if code, ok := host.CodeOf(err); !ok || code != want {
			t.Errorf("%s: %v, want %v", input, err, want)
		}
	}
}

// A tool that does not say that it only reads is called with the inputs that are given, and not at all without any.
func TestConform(t *testing.T) {
	calls := []conform.Call{{Tool: "issue_create", Input: []byte(`{"title": "x"}`)}}
	plugintest.Config{Calls: calls}.Conform(t, plugintest.Build(t, ".", "issues"))
}
