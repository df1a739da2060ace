package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentIsOfARun holds that docs/performance.md is what the template makes of one of the runs in docs/bench.
func TestDocumentIsOfARun(t *testing.T) {
	runs, err := filepath.Glob("../../docs/bench/run-*.json")
	if err != nil || len(runs) == 0 {
		t.Fatalf("there are no runs: make benchruns (%v)", err)
	}
	committed, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range runs {
		r, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := r.Document(&text); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if bytes.Equal(text.Bytes(), committed) {
			return
		}
	}
	t.Errorf("docs/performance.md is of none of %s: make performance RUN=docs/bench/run-3.json", strings.Join(runs, ", "))
}

// TestDocumentWantsAWholeRun holds that a run of some groups makes no document.
func TestDocumentWantsAWholeRun(t *testing.T) {
	r := Run{Rows: []Row{{Group: "Start to first answer", Name: "one plugin, sandbox none", Value: 1}}}
	if err := r.Document(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "whole run") {
		t.Errorf("got %v", err)
	}
}
