package report

import (
	"strings"
	"testing"
)

// TestJudge holds that a gate must hold in two thirds of the runs, and that a row that is missing does not hold.
func TestJudge(t *testing.T) {
	row := func(name string, value float64) Row {
		return Row{Group: "g", Name: name, Value: value, Other: 10, Than: "peer", Target: AtMost(1, 0.5)}
	}
	plain := Row{Group: "g", Name: "no target", Value: 1}
	runs := []*Run{
		{Rows: []Row{row("good", 5), row("bad", 11), row("gone", 5), plain}},
		{Rows: []Row{row("good", 8), row("bad", 11), plain}},
		{Rows: []Row{row("good", 11), row("bad", 9), plain}},
	}
	var b strings.Builder
	if failed := Judge(&b, runs); failed != 2 {
		t.Errorf("%d gates failed, want 2", failed)
	}
	for _, want := range []string{
		"| g: good | peer | ≤ 1.00 / 0.50 | 0.50 stretch | 0.80 met | 1.10 NOT MET | in 2 of 3 |",
		"| g: bad | peer | ≤ 1.00 / 0.50 | 1.10 NOT MET | 1.10 NOT MET | 0.90 met | **in 1 of 3** |",
		"| g: gone | peer | ≤ 1.00 / 0.50 | 0.50 stretch | no such row | no such row | **in 1 of 3** |",
		"1 of 3 gates held in two runs out of three.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "no target") {
		t.Error("a row without a target is judged")
	}
}
