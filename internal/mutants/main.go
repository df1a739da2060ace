// Mutants shows that tests can fail: it applies each patch to a copy of the tree and runs the test that the patch
// names, which must fail. A patch begins with a line such as
//
//	# test: TestContract/v-10
//
// and says below it what it breaks. The test is one of ./host, or of the directory that is named before it:
// "# test: plugins/webfetch TestX".
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	survivors, err := run(os.Args[1:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	case survivors > 0:
		fmt.Fprintf(os.Stderr, "mutants: %d of %d survived\n", survivors, len(os.Args)-1)
		os.Exit(1)
	}
	fmt.Printf("%d mutants, all killed\n", len(os.Args)-1)
}

// mutant is one patch.
type mutant struct {
	name, patch string // patch is its path
	dir, test   string
}

func run(patches []string) (survivors int, err error) {
	if len(patches) == 0 {
		return 0, errors.New("usage: mutants PATCH, one or more")
	}
	var all []mutant
	for _, p := range patches {
		m, err := read(p)
		if err != nil {
			return 0, err
		}
		all = append(all, m)
	}
	tree, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tree)
	if err := copyTree(tree); err != nil {
		return 0, err
	}
	for _, m := range all {
		if out, err := m.runTest(tree); err != nil {
			return 0, fmt.Errorf("%s: %s fails without the patch: %w\n%s", m.name, m.test, err, out)
		}
	}
	for _, m := range all {
		killed, err := m.try(tree)
		if err != nil {
			return survivors, fmt.Errorf("%s: %w", m.name, err)
		}
		word := "killed by"
		if !killed {
			word = "SURVIVED"
			survivors++
		}
		fmt.Printf("%-30s %-9s %s %s\n", m.name, word, m.dir, m.test)
	}
	return survivors, nil
}

// read reads the head of a patch.
func read(path string) (mutant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return mutant{}, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return mutant{}, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	spec, ok := strings.CutPrefix(first, "# test: ")
	words := strings.Fields(spec)
	if !ok || len(words) == 0 || len(words) > 2 {
		return mutant{}, fmt.Errorf("%s: the first line is not \"# test: [DIRECTORY] TEST\"", path)
	}
	m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".patch"), patch: abs, dir: "host", test: words[len(words)-1]}
	if len(words) == 2 {
		m.dir = words[0]
	}
	return m, nil
}

// copyTree copies the files of the working tree that git knows or could know.
func copyTree(to string) error {
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		err := copyFile(name, filepath.Join(to, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // deleted and not committed
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// try reports whether the test fails with the patch. What is not a failing test, such as a patch that does not apply or
// compile, is an error.
func (m mutant) try(tree string) (killed bool, err error) {
	if err := m.apply(tree); err != nil {
		return false, err
	}
	defer func() {
		if undo := m.apply(tree, "--reverse"); err == nil {
			err = undo
		}
	}()
	out, failed := m.runTest(tree)
	if failed == nil {
		return false, nil
	}
	name, _, _ := strings.Cut(m.test, "/")
	if !bytes.Contains(out, []byte("--- FAIL: "+name)) {
		return false, fmt.Errorf("no test ran: %w\n%s", failed, out)
	}
	return true, nil
}

func (m mutant) apply(tree string, args ...string) error {
	cmd := exec.Command("git", append(append([]string{"apply"}, args...), m.patch)...)
	cmd.Dir = tree
	// The copy is no repository; git must not take one above it for its own.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the patch does not apply: %w\n%s", err, out)
	}
	return nil
}

// runTest runs the test; a test that is not there is an error.
func (m mutant) runTest(tree string) (output []byte, err error) {
	parts := strings.Split(m.test, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	cmd := exec.Command("go", "test", "-count=1", "-timeout=2m", "-v", "-run", strings.Join(parts, "/"), "./"+m.dir)
	cmd.Dir = tree
	output, err = cmd.CombinedOutput()
	if err == nil && !bytes.Contains(output, []byte("--- PASS: "+m.test+" ")) {
		err = errors.New("it did not run")
	}
	return output, err
}
