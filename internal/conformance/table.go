package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is what came of one scenario.
type row struct {
	scenario
	expected string // pass or fail
	result   string // pass, fail or not run
	why      string // the reason of an expected failure, or what the suite said
	ok       bool   // it is as it should be
}

// table is what came of a requirement set.
type table []row

// judge compares what the suite saw with what is expected of each scenario. An expected failure that is no scenario of the set is
// an error.
func judge(set []scenario, expected map[string]string, results map[string][]check) (table, error) {
	for name := range expected {
		of, _, _ := strings.Cut(name, ":")
		if !slices.ContainsFunc(set, func(s scenario) bool { return s.name == of }) {
			return nil, fmt.Errorf("the expected failure %s is no scenario of this set", name)
		}
	}
	var t table
	for _, s := range set {
		t = append(t, judgeOne(s, expected, results[s.name]))
	}
	return t, nil
}

// judgeOne counts warnings as failures, as the suite does when it compares with expected ones. A scenario none of whose checks
// could succeed has not passed.
func judgeOne(s scenario, expected map[string]string, checks []check) row {
	r := row{scenario: s, expected: "pass", result: "not run"}
	why, whole := expected[s.name]
	if whole {
		r.expected = "fail"
	}
	var faults []string
	succeeded, excused := 0, map[string]bool{}
	for _, c := range checks {
		_, known := expected[s.name+":"+c.ID]
		switch {
		case c.Status == "SUCCESS":
			succeeded++
		case c.Status != "FAILURE" && c.Status != "WARNING":
		case known:
			excused[c.ID] = true
		default:
			faults = append(faults, fmt.Sprintf("%s: %s", c.ID, c.Error))
		}
	}
	for _, c := range checks {
		if _, known := expected[s.name+":"+c.ID]; known && c.Status == "SUCCESS" && !excused[c.ID] {
			faults = append(faults, c.ID+" passes: it is no expected failure any more")
		}
	}
	switch {
	case len(faults) > 0:
		r.result, r.why = "fail", strings.Join(faults, "; ")
	case succeeded > 0:
		r.result = "pass"
	case checks != nil:
		r.result, r.why = "fail", "no check succeeded"
	}
	r.ok = r.result == r.expected
	switch {
	case whole && r.result == "pass":
		r.why = "it passes: it is no expected failure any more"
	case whole && r.ok:
		r.why = why
	}
	return r
}

func (t table) bad() (n int) {
	for _, r := range t {
		if !r.ok {
			n++
		}
	}
	return n
}

// String has a line for every scenario and one that counts.
func (t table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tscored\texpected\tresult\t")
	scored, passed, excused := 0, 0, 0
	for _, r := range t {
		kind := r.score
		if kind == "scored" {
			kind = "yes"
			scored++
			switch {
			case r.result == "pass":
				passed++
			case r.ok:
				excused++
			}
		}
		mark := ""
		if !r.ok {
			mark = "WRONG  "
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", r.name, kind, r.expected, r.result, mark, shorten(r.why, 300))
	}
	_ = w.Flush() // a Builder takes everything
	fmt.Fprintf(&b, "\n%d of %d scored scenarios pass, %d fail as expected; %d of all %d are not as they should be\n", passed, scored, excused, t.bad(), len(t))
	return b.String()
}

// shorten keeps a line one line.
func shorten(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
