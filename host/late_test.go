//go:build unix

package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// serveLate serves the tool "late" once the file is there: as soon as it comes if the host does not know the tool, else
// before anything.
func serveLate(file string) {
	there := func() bool { _, err := os.Stat(file); return err == nil }
	pluginsdk.ServeFunc(func(ctx context.Context, r *pluginsdk.Registry) error {
		r.Dynamic()
		late := tool("late", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "better than never", nil })
		if there() {
			return r.Set(late)
		}
		if _, ok := r.Deadline(); !ok {
			return errors.New("what it serves is not there")
		}
		r.Go(func() {
			for !there() {
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
					return
				}
			}
			_ = r.Set(late)
		})
		return r.Set()
	})
}

// TestR32_LateTools: a plugin whose tools are still to come delays nobody, is not remembered as one without tools, and its
// tools arrive as those that were seen first.
func TestR32_LateTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "there")
	cfg := host.Config{StateDir: t.TempDir()}
	late := self("late", "late:"+file)
	names := func(h *host.Host) (names []string) {
		for tool := range h.Tools() {
			names = append(names, tool.ID)
		}
		return names
	}
	first := open(t, cfg, self("other", "clash"), late)
	if got := strings.Join(names(first), " "); got != "echo" {
		t.Errorf("the list is %q", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	h := open(t, cfg, self("other", "clash"), late)
	if got := strings.Join(names(h), " "); got != "echo" {
		t.Errorf("the second list is %q", got)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late tool is there", func() bool { _, ok := h.Tool("late"); return ok })
	call(t, h, "late", `{}`)
	for s := range h.Plugins() {
		if len(s.Changes) > 0 {
			t.Errorf("plugin %s: changes %v", s.Name, s.Changes)
		}
	}
}

// TestR31_WhatCannotServeNowIsNotQuarantined: a plugin that lives and says why it cannot serve may serve tomorrow; what it
// registered before is listed meanwhile.
func TestR31_WhatCannotServeNowIsNotQuarantined(t *testing.T) {
	file := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := host.Config{StateDir: t.TempDir(), Limits: host.Limits{Circuit: 2, BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond}}
	first := open(t, cfg, self("late", "late:"+file))
	call(t, first, "late", `{}`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	h := open(t, cfg, self("late", "late:"+file))
	for range 4 {
		if _, ok := h.Tool("late"); !ok {
			t.Fatal("the tool is not listed")
		}
		e := fails(t, h, "late", `{}`, host.Unavailable, host.NotStarted)
		if !strings.Contains(e.Error(), "what it serves is not there") {
			t.Fatal(e)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it serves again", func() bool {
		_, err := h.Call(t.Context(), host.Call{Tool: "late", Input: []byte(`{}`)})
		return err == nil
	})
}
