//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
)

// What a display view hides is in no event of the display form, no suspension and no log.
func TestX5_WhatAViewHidesIsNowhere(t *testing.T) {
	for _, tool := range []string{"veiled", "veiledf"} {
		for _, line := range []string{"", "fail", "break", "suspend"} {
			t.Run(tool+" "+line, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, "toolplugin-veiled")
				input := fmt.Sprintf(`{"file":"PLANTED","line":%q}`, line)
				d.hides("PLANTED", "call", tool, input, "--events")
				d.hides("PLANTED", "call", tool, input, "--events", "--deny", "no")
				d.hides("PLANTED", "call", tool, input, "--events", "--approve", "--save", "s.json")
				d.hides("PLANTED", "pending", "--json")
				if line == "suspend" {
					if code := d.hides("PLANTED", "resume", "s.json", "--data", `"PLANTED"`, "--events"); code != exitOK {
						t.Errorf("exit code %d", code)
					}
				}
				d.holdsNo("PLANTED")
				out, _, _ := d.run("call", tool, input, "--events", "--raw", "--approve", "--save", "t.json")
				if !strings.Contains(out, "PLANTED") {
					t.Errorf("--raw shows %q: the test would not see a leak", out)
				}
			})
		}
	}
}
