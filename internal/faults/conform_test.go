//go:build linux

package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
)

// TestA3_ConformFindsTheFaults holds that the check that docs/faults.md names finds each fault, says what happened, and
// leaves no process.
func TestA3_ConformFindsTheFaults(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, sideBySide)
	for _, r := range table(t) {
		if r.found == "" && r.String() != "healthy" {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			dir := home(t, r.plugin)
			cfg := conform.Config{
				Path:   filepath.Join(dir, "plugins", "toolplugin-"+r.plugin),
				Limits: host.Limits{Call: time.Minute, Grace: time.Second},
			}
			if r.exit == 10 { // it never answers
				cfg.Limits.Call = patience
			}
			if r.deaf() {
				cfg.Limits.Ping, cfg.Limits.PingWait = time.Second, 500*time.Millisecond
			}
			if r.found != "" {
				cfg.Only = []string{r.found}
			}
			switch r.config {
			case shortStart:
				cfg.Limits.Start = 2 * time.Second
			case "sandbox: none":
				cfg.Sandbox.Profile = host.ProfileNone
			}
			report, err := conform.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if c.Name == r.found {
					t.Logf("%s: %s -> %s", c.Name, c.Detail, c.Remedy)
					if c.State != conform.Failed || c.Detail == "" || c.Remedy == "" {
						t.Errorf("%s: %s: %q, remedy %q", c.Name, c.State, c.Detail, c.Remedy)
					}
				} else if r.found == "" && c.State == conform.Failed {
					t.Errorf("%s fails a healthy plugin: %s", c.Name, c.Detail)
				}
			}
			gone(t, dir)
		})
	}
}
