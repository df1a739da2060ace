package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// verdict is what the tests say of a requirement.
type verdict int

const (
	passed  verdict = iota
	skipped         // a test could not run here, as the table allows
	unshown         // the table has a reason in place of a test
	failed
)

func (v verdict) String() string { return []string{"ok", "skipped", "not shown", "FAILED"}[v] }

// result is what one test said.
type result struct {
	action string   // pass, fail, skip; empty if it did not run to its end
	output []string // of a test that did not pass; of a skipped one or part of one, why
	skips  bool     // the test or a part of it was skipped
}

// verdict sums up the results of r's tests. The notes say what was not ok.
func (r requirement) verdict(results map[test]result) (v verdict, notes []string) {
	if r.reason != "" {
		return unshown, nil
	}
	for _, t := range r.tests {
		res := results[t]
		switch {
		case res.action == "pass" && !res.skips:
			continue
		case res.action == "pass" && r.maySkip != "":
			notes = append(notes, fmt.Sprintf("skipped in part: %s (allowed: %s)", t.name, r.maySkip))
			continue
		case res.action == "skip" && r.maySkip != "":
			v = max(v, skipped)
			notes = append(notes, fmt.Sprintf("skipped: %s (allowed: %s)", t.name, r.maySkip))
		case res.action == "skip" || res.action == "pass":
			v = failed
			notes = append(notes, "skipped, which the table does not allow: "+t.name)
		case res.action == "fail":
			v = failed
			notes = append(notes, "failed: "+t.name)
		default:
			v = failed
			notes = append(notes, "did not run to its end: "+t.name)
		}
		notes = append(notes, res.output...)
	}
	return v, notes
}

// runTests runs every test of the table once, one package after the other.
func runTests(all []requirement, root string, progress io.Writer) (map[test]result, error) {
	names := map[string][]string{}
	var dirs []string
	for _, r := range all {
		for _, t := range r.tests {
			if names[t.dir] == nil {
				dirs = append(dirs, t.dir)
			}
			if !slices.Contains(names[t.dir], t.name) {
				names[t.dir] = append(names[t.dir], t.name)
			}
		}
	}
	slices.Sort(dirs)
	results := map[test]result{}
	for _, dir := range dirs {
		began := time.Now()
		if err := runPackage(root, dir, names[dir], results); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		fmt.Fprintf(progress, "%-26s %3d tests  %.1fs\n", dir, len(names[dir]), time.Since(began).Seconds())
	}
	return results, nil
}

func runPackage(root, dir string, names []string, results map[test]result) error {
	cmd := exec.Command("go", "test", "-json", "-count=1", "-timeout=7m", "-run=^("+strings.Join(names, "|")+")$", "./"+dir)
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return err
	}
	return read(out, dir, errs.Bytes(), results)
}

// event is a line of go test -json.
type event struct{ Action, Test, Output string }

// maxOutput is how many lines of a test's output are kept.
const maxOutput = 20

// read takes the results of a package's tests from what go test printed.
func read(out []byte, dir string, errs []byte, results map[test]result) error {
	var rest strings.Builder      // what belongs to no test
	said := map[string][]string{} // by test and part of one
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e event
		if err := dec.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("go test: %w: %s", err, errs)
		}
		if e.Test == "" {
			rest.WriteString(e.Output)
			continue
		}
		name, part, _ := strings.Cut(e.Test, "/")
		r := results[test{dir, name}]
		switch e.Action {
		case "output":
			if line := strings.TrimSpace(e.Output); line != "" && !strings.HasPrefix(line, "=== ") {
				said[e.Test] = append(said[e.Test], line)
			}
		case "fail", "skip":
			r.skips = r.skips || e.Action == "skip"
			r.output = append(r.output, said[e.Test][:min(maxOutput, len(said[e.Test]))]...)
		}
		if part == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			r.action = e.Action
		}
		results[test{dir, name}] = r
	}
	if len(said) == 0 {
		return fmt.Errorf("no test ran: %s%s", errs, rest.String())
	}
	return nil
}
