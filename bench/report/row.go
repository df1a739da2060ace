// Package report holds what a run of the benchmarks measured and prints it: as a table, as Markdown and as SVG.
package report

import "fmt"

// Row is one line of the table: what was measured, against what, and what it must and should be.
type Row struct {
	Group  string  `json:"group"`
	Name   string  `json:"name"`
	Value  float64 `json:"value"`           // what was measured, in Unit
	Unit   string  `json:"unit"`            // such as "µs" or "calls/s"
	Than   string  `json:"than,omitempty"`  // what it is compared with; empty: nothing
	Other  float64 `json:"other,omitempty"` // what that had, in the same unit
	Target *Target `json:"target,omitempty"`
}

// Target is what the ratio Value/Other must be, and what is the goal. If Absolute is set it is about Value itself.
type Target struct {
	Gate     float64 `json:"gate"`
	Stretch  float64 `json:"stretch"`         // zero: there is none
	Least    bool    `json:"least,omitempty"` // the ratio must be at least so much; else at most
	Absolute bool    `json:"absolute,omitempty"`
}

// The verdicts.
const (
	Stretch = "stretch"
	Met     = "met"
	NotMet  = "NOT MET"
)

// AtMost is a target of a ratio.
func AtMost(gate, stretch float64) *Target { return &Target{Gate: gate, Stretch: stretch} }

// AtLeast is a target of a ratio.
func AtLeast(gate, stretch float64) *Target {
	return &Target{Gate: gate, Stretch: stretch, Least: true}
}

// Ratio is Value/Other; 0 if there is nothing to compare with.
func (r Row) Ratio() float64 {
	if r.Other == 0 {
		return 0
	}
	return r.Value / r.Other
}

// Verdict says whether the target is met; empty without a target.
func (r Row) Verdict() string {
	if r.Target == nil {
		return ""
	}
	got := r.judged()
	holds := func(want float64) bool { return got <= want }
	if r.Target.Least {
		holds = func(want float64) bool { return got >= want }
	}
	switch {
	case r.Target.Stretch != 0 && holds(r.Target.Stretch):
		return Stretch
	case holds(r.Target.Gate):
		return Met
	}
	return NotMet
}

// judged is what the target is about.
func (r Row) judged() float64 {
	if r.Target.Absolute {
		return r.Value
	}
	return r.Ratio()
}

// Want is the target in words: "<= 0.85 / 0.70".
func (t *Target) Want() string {
	if t == nil {
		return ""
	}
	sign := "≤"
	if t.Least {
		sign = "≥"
	}
	if t.Stretch == 0 {
		return fmt.Sprintf("%s %s", sign, number(t.Gate))
	}
	return fmt.Sprintf("%s %s / %s", sign, number(t.Gate), number(t.Stretch))
}
