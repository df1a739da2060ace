package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Budgets of patterns (T4).
const (
	maxPatternText   = 1 << 10    // bytes of one pattern
	maxProgram       = 2_000      // instructions of one compiled pattern
	maxPrograms      = 10_000     // instructions of all patterns of a schema
	maxPatternSteps  = 10_000_000 // program length times string length, for one match
	backtrackTimeout = 50 * time.Millisecond
)

// pattern is a compiled regular expression with what a match may cost. Safe for concurrent use.
type pattern struct {
	text string
	re2  *regexp.Regexp
	back *regexp2.Regexp // for what RE2 cannot express: look-around, back references
	size int             // instructions
}

func (p *pattern) String() string { return p.text }

// MatchString makes a pattern the engine's Regexp. The engine uses it only where it checks a schema against
// its meta-schema; too long a string does not match.
func (p *pattern) MatchString(s string) bool {
	matched, affordable := p.match(s)
	return matched && affordable
}

// cost is an upper bound of the steps that a match against s takes.
func (p *pattern) cost(s string) int { return p.size * (len(s) + 1) }

// match reports whether s contains a match; affordable is false where finding out costs too much.
func (p *pattern) match(s string) (matched, affordable bool) {
	if p.cost(s) > maxPatternSteps {
		return false, false
	}
	if p.re2 != nil {
		return p.re2.MatchString(s), true
	}
	matched, err := p.back.MatchString(s)
	return matched, err == nil
}

// patterns compiles the patterns of one schema, each text once.
type patterns struct {
	byText map[string]*pattern
	total  int
}

// compile is the engine's RegexpEngine. Errors: what the pattern has too much of, or why neither engine reads
// it.
func (ps *patterns) compile(text string) (jsonschema.Regexp, error) {
	if p := ps.byText[text]; p != nil {
		return p, nil
	}
	if ps.total > maxPrograms {
		return nil, &LimitError{What: "instructions in the patterns of a schema", Max: maxPrograms}
	}
	p, err := newPattern(text)
	if err != nil {
		return nil, err
	}
	ps.total += p.size // the last one may go over: it is compiled by now
	ps.byText[text] = p
	return p, nil
}

func newPattern(text string) (*pattern, error) {
	if len(text) > maxPatternText {
		return nil, &LimitError{What: "bytes in a pattern", Max: maxPatternText}
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return newBacktracking(text)
	}
	tooLong := &LimitError{What: "instructions in a compiled pattern", Max: maxProgram}
	if programSize(tree) > 2*maxProgram {
		return nil, tooLong // before it is expanded: that may take 100 MB
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", cut(text, maxQuote), err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, tooLong
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", cut(text, maxQuote), err)
	}
	return &pattern{text: text, re2: re, size: len(prog.Inst)}, nil
}

// newBacktracking compiles what RE2 does not. regexp2 has no step budget, only a deadline for each match,
// which it checks every 100 ms at worst; so a string's length is bounded as for RE2, with four steps for each
// byte of the pattern.
func newBacktracking(text string) (*pattern, error) {
	re, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", cut(text, maxQuote), err)
	}
	re.MatchTimeout = backtrackTimeout
	return &pattern{text: text, back: re, size: 4 * len(text)}, nil
}

// programSize estimates the instructions of a parsed pattern before its repetitions are expanded.
func programSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Max, re.Min, 1)
	}
	return min(size, 1<<30)
}
