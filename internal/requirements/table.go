package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// requirement is one line of the table:
//
//	ID | what it asks, in one line | PACKAGE Test[,Test...][; PACKAGE Test...] [| may skip: why]
//	ID | what it asks, in one line | reason: why no test shows it here
type requirement struct {
	id, text string
	tests    []test
	reason   string // why there is no test
	maySkip  string // when a test may be skipped; empty: never
}

// test is a test function of a package.
type test struct{ dir, name string }

// group is a list of ids such as "H1-6 L1-15".
type group struct{ name, ids string }

// expand lists the ids of g.
func (g group) expand() (ids []string, err error) {
	for _, f := range strings.Fields(g.ids) {
		m := regexp.MustCompile(`^([A-Z]+)(\d+)-(\d+)$`).FindStringSubmatch(f)
		if m == nil {
			return nil, fmt.Errorf("group %s: %q is not like H1-6", g.name, f)
		}
		first, _ := strconv.Atoi(m[2])
		last, _ := strconv.Atoi(m[3])
		for i := first; i <= last; i++ {
			ids = append(ids, m[1]+strconv.Itoa(i))
		}
	}
	return ids, nil
}

// parse reads the table. Empty lines and those that begin with # are comments.
func parse(text string) (all []requirement, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		r, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("requirements.txt:%d: %w", i+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func parseLine(line string) (requirement, error) {
	f := strings.Split(line, "|")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	if len(f) < 3 || len(f) > 4 || f[0] == "" || f[1] == "" || f[2] == "" {
		return requirement{}, errors.New("want ID | text | tests or reason [| may skip: why]")
	}
	r := requirement{id: f[0], text: f[1]}
	if reason, ok := strings.CutPrefix(f[2], "reason:"); ok {
		r.reason = strings.TrimSpace(reason)
		if r.reason == "" || len(f) == 4 {
			return r, fmt.Errorf("%s: a reason stands alone and says why", r.id)
		}
		return r, nil
	}
	for part := range strings.SplitSeq(f[2], ";") {
		words := strings.Fields(part)
		if len(words) != 2 {
			return r, fmt.Errorf("%s: %q is not PACKAGE Test[,Test...]", r.id, part)
		}
		for name := range strings.SplitSeq(words[1], ",") {
			r.tests = append(r.tests, test{words[0], name})
		}
	}
	if len(f) == 4 {
		why, ok := strings.CutPrefix(f[3], "may skip:")
		if r.maySkip = strings.TrimSpace(why); !ok || r.maySkip == "" {
			return r, fmt.Errorf("%s: %q is not may skip: why", r.id, f[3])
		}
	}
	return r, nil
}

// check holds the table against the ids that must be there and the tests that are in the tree below root, as they are
// built for Linux.
func check(all []requirement, groups []group, root string) error {
	var errs []error
	seen := map[string]int{}
	for _, r := range all {
		seen[r.id]++
	}
	known := map[string]bool{}
	for _, g := range groups {
		ids, err := g.expand()
		if err != nil {
			return err
		}
		for _, id := range ids {
			known[id] = true
			if n := seen[id]; n != 1 {
				errs = append(errs, fmt.Errorf("%s (%s) is there %d times", id, g.name, n))
			}
		}
	}
	tests := map[string]map[string]bool{} // by directory
	for _, r := range all {
		if !known[r.id] {
			errs = append(errs, fmt.Errorf("%s is no id of any group", r.id))
		}
		for _, t := range r.tests {
			if tests[t.dir] == nil {
				names, err := testsIn(filepath.Join(root, t.dir))
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", r.id, err))
				}
				tests[t.dir] = names
			}
			if !tests[t.dir][t.name] {
				errs = append(errs, fmt.Errorf("%s: no %s in %s", r.id, t.name, t.dir))
			}
		}
	}
	return errors.Join(errs...)
}

// testsIn lists the test functions of the package in dir, as it is built for Linux; also fuzz targets, which test their seeds.
func testsIn(dir string) (map[string]bool, error) {
	names := map[string]bool{}
	files, err := os.ReadDir(dir)
	if err != nil {
		return names, err
	}
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", false
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		if ok, err := ctx.MatchFile(dir, f.Name()); err != nil || !ok {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return names, err
		}
		for _, d := range src.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				names[f.Name.Name] = true
			}
		}
	}
	return names, nil
}

// print writes the requirement: what it asks, and below it what proves it.
func (r requirement) print(w io.Writer, result string) {
	fmt.Fprintf(w, "%-4s %-9s  %s\n", r.id, cmp.Or(result, "-"), r.text)
	if r.reason != "" {
		fmt.Fprintf(w, "%16s%s\n", "", r.reason)
	}
	for i, t := range r.tests {
		if i > 0 && r.tests[i-1].dir == t.dir {
			fmt.Fprintf(w, ", %s", t.name)
		} else {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%16s%s: %s", "", t.dir, t.name)
		}
	}
	if len(r.tests) > 0 {
		fmt.Fprintln(w)
	}
}

func count(all []requirement, is func(requirement) bool) (n int) {
	for _, r := range all {
		if is(r) {
			n++
		}
	}
	return n
}
