package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table holds every id once, and names tests that exist; make requirements runs them.
func TestTable(t *testing.T) {
	all, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(all, groups, "../.."); err != nil {
		t.Error(err)
	}
}

func TestParse_Refuses(t *testing.T) {
	for line, says := range map[string]string{
		"H1 | text":                            "want ID | text | tests or reason",
		"H1 | | host TestA":                    "want ID",
		"H1 | text | host":                     `"host" is not PACKAGE Test`,
		"H1 | text | reason:":                  "a reason stands alone and says why",
		"H1 | text | reason: x | may skip: y":  "a reason stands alone",
		"H1 | text | host TestA | when it may": "is not may skip: why",
	} {
		if _, err := parse("# comment\n\n" + line); err == nil || !strings.Contains(err.Error(), "requirements.txt:3: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", line, err, says)
		}
	}
}

func TestCheck(t *testing.T) {
	all, err := parse("X1 | one | internal/requirements TestCheck,TestNone\nX1 | again | reason: x\nY1 | other | nowhere TestA\nX3 | three | reason: x")
	if err != nil {
		t.Fatal(err)
	}
	err = check(all, []group{{"some", "X1-3"}}, "../..")
	if err == nil {
		t.Fatal("no error")
	}
	for _, says := range []string{
		"X1 (some) is there 2 times", "X2 (some) is there 0 times", "no TestNone in internal/requirements", "Y1 is no id", "no TestA in nowhere",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("no %q in %v", says, err)
		}
	}
	if strings.Contains(err.Error(), "TestCheck in") {
		t.Error(err)
	}
}

func TestVerdict(t *testing.T) {
	results := map[test]result{}
	out := `{"Action":"start"}
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"=== RUN TestA\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"output","Test":"TestPart/one","Output":"no namespaces\n"}
{"Action":"skip","Test":"TestPart/one"}
{"Action":"output","Test":"TestPart/two","Output":"much\n"}
{"Action":"pass","Test":"TestPart/two"}
{"Action":"pass","Test":"TestPart"}
{"Action":"output","Test":"TestB","Output":"  b_test.go:1: wrong\n"}
{"Action":"fail","Test":"TestB"}
{"Action":"run","Test":"TestHangs"}
{"Action":"skip","Test":"TestSkip"}
{"Action":"fail"}`
	if err := read([]byte(out), "host", nil, results); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"no namespaces"}, results[test{"host", "TestPart"}].output); diff != "" {
		t.Error(diff)
	}
	got := map[string]verdict{}
	for _, line := range []string{
		"ok | x | host TestA", "part | x | host TestA,TestPart", "partly | x | host TestPart,TestA | may skip: no kernel", "skipped | x | host TestSkip,TestPart | may skip: no kernel", "not allowed | x | host TestSkip", "bad | x | host TestA,TestB | may skip: y",
		"hangs | x | host TestHangs", "missing | x | host TestC", "reason | x | reason: windows",
	} {
		r, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		v, notes := r.verdict(results)
		got[r.id] = v
		if (v == failed || v == skipped || r.id == "partly") != (len(notes) > 0) {
			t.Errorf("%s: notes %q", r.id, notes)
		}
	}
	want := map[string]verdict{"ok": passed, "part": failed, "partly": passed, "skipped": skipped, "not allowed": failed, "bad": failed, "hangs": failed, "missing": failed, "reason": unshown}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := read([]byte(`{"Action":"build-output","Output":"x.go:1: no\n"}`), "host", nil, results); err == nil || !strings.Contains(err.Error(), "x.go:1: no") {
		t.Errorf("a package that does not build: %v", err)
	}
}
