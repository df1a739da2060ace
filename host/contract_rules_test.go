//go:build unix

package host_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var table = flag.String("contract.table", "", "write the table of rules, decisions, tests and their results to this file; runs the Go tests that it names")

// rule is one line of rules.txt, with the conversations that name it.
type rule struct {
	id, decision string
	files        []string // conversations, by name
	goTests      []string // directory.TestName
}

func (r rule) out() bool { return strings.HasPrefix(r.decision, "out:") }

var (
	decisionForm = regexp.MustCompile(`^(original|better|better b\d+|out: \S.*)$`)
	ruleIDForm   = regexp.MustCompile(`^([A-Z]+-\d+|b\d+)$`)
)

// TestContractRules holds that every rule in scope has a decision and a test, or a reason, and that tests name rules that exist.
func TestContractRules(t *testing.T) {
	rules, faults := loadRules(t)
	for _, f := range faults {
		t.Error(f)
	}
	for _, want := range rulesInScope() {
		if _, ok := rules[want]; !ok {
			t.Errorf("rules.txt: %s is in scope and not listed", want)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		r := rules[id]
		switch tested := len(r.files)+len(r.goTests) > 0; {
		case !decisionForm.MatchString(r.decision) || r.decision == "better" && id[0] != 'b':
			t.Errorf("rules.txt: %s: decision %q", id, r.decision)
		case !tested && !r.out():
			t.Errorf("rules.txt: %s has neither a test nor a reason", id)
		case tested && r.out():
			t.Errorf("rules.txt: %s is out of scope and has tests", id)
		}
		if n, better := strings.CutPrefix(r.decision, "better "); better {
			if _, ok := rules[n]; !ok {
				t.Errorf("rules.txt: %s: %s is not listed", id, n)
			}
		}
	}
}

// rulesInScope are sections 1, 3 to 7 and 12 to 18 of the contract, B-1, CT-1, and the corners that belong to a tool host.
func rulesInScope() []string {
	ids := []string{"B-1", "CT-1", "b45", "b46", "b50", "b51", "b52", "b54"}
	for section, last := range map[string]int{
		"T-": 9, "E-": 10, "V-": 18, "O-": 8, "C-": 12, "N-": 12, "H-": 8, "A-": 12, "R-": 17, "X-": 13, "AP-": 20, "SU-": 10, "b": 41,
	} {
		for n := range last {
			ids = append(ids, fmt.Sprintf("%s%d", section, n+1))
		}
	}
	return ids
}

// loadRules reads rules.txt and what the conversations say they prove.
func loadRules(t *testing.T) (rules map[string]*rule, faults []string) {
	text, err := os.ReadFile(filepath.Join(contractDir, "rules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	rules = map[string]*rule{}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for lines, n := bufio.NewScanner(bytes.NewReader(text)), 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.SplitN(line+"|", "|", 4)
		if len(cells) < 4 {
			fault("rules.txt:%d: want id | decision | tests", n)
			continue
		}
		r := &rule{id: strings.TrimSpace(cells[0]), decision: strings.TrimSpace(cells[1])}
		if rules[r.id] != nil || !ruleIDForm.MatchString(r.id) {
			fault("rules.txt:%d: %q is listed twice or is no rule", n, r.id)
			continue
		}
		rules[r.id] = r
		for _, test := range strings.FieldsFunc(strings.Trim(cells[2], "| "), func(c rune) bool { return c == ',' || c == ' ' }) {
			if err := goTestExists(test); err != nil {
				fault("rules.txt:%d: %s: %v", n, r.id, err)
			}
			r.goTests = append(r.goTests, test)
		}
	}
	files, err := filepath.Glob(filepath.Join(contractDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		ids, err := rulesOf(file)
		if err != nil {
			fault("%s: %v", filepath.Base(file), err)
		}
		for _, id := range ids {
			if rules[id] == nil {
				fault("%s: the rule %q is not in rules.txt", filepath.Base(file), id)
				continue
			}
			rules[id].files = append(rules[id].files, contractName(file))
		}
	}
	return rules, faults
}

// rulesOf reads the head of a conversation: the rules, and a sentence.
func rulesOf(file string) ([]string, error) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	first, sentence, _ := strings.Cut(string(a.Comment), "\n")
	list, ok := strings.CutPrefix(first, "Rules: ")
	sentence = strings.TrimSpace(sentence)
	if !ok || len(strings.Fields(sentence)) < 5 || !strings.HasSuffix(sentence, ".") {
		return nil, fmt.Errorf("it does not begin with a line \"Rules: ...\" and a sentence")
	}
	var ids []string
	for id := range strings.SplitSeq(list, ",") {
		ids = append(ids, strings.TrimSpace(id))
	}
	return ids, nil
}

// goTestExists looks for the function of a test DIRECTORY.TestName.
func goTestExists(test string) error {
	dir, name, ok := cutLast(test, ".")
	if !ok {
		return fmt.Errorf("%q is no DIRECTORY.TestName", test)
	}
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)")) {
			return nil
		}
	}
	return fmt.Errorf("there is no test %s", test)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// verdicts are the results of the conversations of one run.
type verdicts struct {
	mu     sync.Mutex
	passed map[string]bool // not in it: not run
}

func newVerdicts() *verdicts { return &verdicts{passed: map[string]bool{}} }

func (v *verdicts) note(t *testing.T, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.passed[name] = !t.Failed() && !t.Skipped()
}

// print writes the table, if one is wanted.
func (v *verdicts) print(t *testing.T) {
	if *table == "" {
		return
	}
	rules, _ := loadRules(t)
	v.runGoTests(t, rules)
	var b strings.Builder
	good, bad := 0, 0
	for _, id := range slices.SortedFunc(maps.Keys(rules), byRule) {
		r := rules[id]
		ok := "ok"
		if !v.holds(r) {
			ok = "NOT OK"
			bad++
		} else {
			good++
		}
		fmt.Fprintf(&b, "%-6s %-7s %-14s %s\n", id, ok, decisionWord(r), strings.Join(slices.Concat(r.files, r.goTests), " "))
	}
	fmt.Fprintf(&b, "%d rules: %d ok, %d not ok\n", good+bad, good, bad)
	if err := os.WriteFile(*table, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
	if bad > 0 {
		t.Errorf("%d rules do not hold", bad)
	}
}

func decisionWord(r *rule) string {
	if r.out() {
		return r.decision
	}
	return strings.Replace(r.decision, "better b", "better: b", 1)
}

// holds reports whether every test of a rule passed; one that is out of scope needs none.
func (v *verdicts) holds(r *rule) bool {
	tests := slices.Concat(r.files, r.goTests)
	return (r.out() || len(tests) > 0) && !slices.ContainsFunc(tests, func(name string) bool { return !v.passed[name] })
}

// runGoTests runs the Go tests that the rules name.
func (v *verdicts) runGoTests(t *testing.T, rules map[string]*rule) {
	byDir := map[string][]string{}
	for _, r := range rules {
		for _, test := range r.goTests {
			if dir, name, ok := cutLast(test, "."); ok && !slices.Contains(byDir[dir], name) {
				byDir[dir] = append(byDir[dir], name)
			}
		}
	}
	for dir, names := range byDir {
		cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^("+strings.Join(names, "|")+")$", "./"+dir)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		for _, name := range names {
			passed := bytes.Contains(out, []byte("--- PASS: "+name+" "))
			v.passed[dir+"."+name] = passed
			if !passed {
				t.Errorf("%s.%s: %v\n%s", dir, name, err, out)
			}
		}
	}
}

// byRule sorts V-2 before V-10, and the letters before the b-numbers.
func byRule(a, b string) int {
	key := func(id string) string {
		i := strings.IndexAny(id, "0123456789")
		return fmt.Sprintf("%s%03s", id[:i], id[i:])
	}
	return strings.Compare(key(a), key(b))
}
