package schema

import (
	"errors"
	"time"
)

// Budgets of one check (T2, T4). A step is a node looked at for a value, or work of about the same 30 ns.
const (
	baseSteps        = 2_000_000
	explainSteps     = 500_000
	violationSteps   = 50 // to put one into words
	stepsPerValue    = 20
	basePatternSteps = 200_000_000 // see pattern.cost
	patternPerByte   = 64
	stepsPerPattern  = 64  // pattern steps that count as one step, where steps are all that is counted
	divisionSteps    = 100 // of large or fractional numbers
	regexSteps       = 5_000
	maxBacktracking  = time.Second
)

func stepsFor(d *Document) int { return baseSteps + stepsPerValue*d.values }

// errCostly ends a walk at a string that is too long for its pattern; the violation is kept aside.
var errCostly = errors.New("too long for a pattern check")

// Validate checks the document. Errors: *Error with the violations; *LimitError if the check would take too long;
// *PanicError.
func (s *Schema) Validate(d *Document) error {
	if s == nil {
		return nil
	}
	if ok, err := s.holds(d); ok || err != nil {
		return err
	}
	return s.violations(d)
}

// holds is the verdict alone. Errors: *LimitError, *PanicError.
func (s *Schema) holds(d *Document) (ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			ok, err = false, caught("validate", v)
		}
	}()
	if d.spent {
		return false, tooCostly(d)
	}
	w := newWalker(d)
	if w.check(s.root, d.Value(), nil) && w.stop == nil {
		return true, nil
	}
	if w.stop != nil && w.stop != errCostly {
		return false, tooCostly(d)
	}
	return false, nil
}

func tooCostly(d *Document) error {
	return &LimitError{What: "steps to check a document against its schema", Max: stepsFor(d)}
}

// violations says why an invalid document is invalid. Errors: *Error, *PanicError.
func (s *Schema) violations(d *Document) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = caught("validate", v)
		}
	}()
	return s.explain(d)
}

// explain walks a second time and gathers violations until there are enough (T6).
func (s *Schema) explain(d *Document) *Error {
	w := newWalker(d)
	w.report, w.max = true, maxViolations
	w.steps = explainSteps + stepsPerValue*d.values
	w.secrets = s.masks(d)
	w.check(s.root, d.Value(), nil)
	if w.costly != nil {
		w.found = append(w.found, *w.costly)
	}
	if len(w.found) == 0 { // it ran out of steps within unions
		w.found = append(w.found, Violation{Keyword: "false", Expected: "a value that matches the schema", Got: "another", Message: "the value: does not match the schema"})
	}
	return &Error{Violations: w.found, More: w.more}
}

// walker walks a value and the nodes that apply to it. Without report it stops at the first fault, keeps no trail and
// allocates next to nothing.
type walker struct {
	steps        int
	patternSteps int
	backtracked  time.Duration
	stop         error // a budget ran out: every check ends
	costly       *Violation

	report  bool
	trail   trail
	found   []Violation
	size    int // bytes of found
	max     int // violations
	more    int
	secrets *edit
}

func newWalker(d *Document) *walker {
	return &walker{steps: stepsFor(d), patternSteps: basePatternSteps + patternPerByte*len(d.text)}
}

// spend takes steps; false means there are none left.
func (w *walker) spend(steps int) bool {
	if w.steps -= steps; w.steps < 0 && w.stop == nil {
		w.stop = errors.New("out of steps")
	}
	return w.stop == nil
}

// full reports that enough was found.
func (w *walker) full() bool { return w.more > 0 }

// check reports whether the value is valid. What it evaluated is added to ev, if that is not nil and the value is valid.
func (w *walker) check(n *node, v any, ev *evaluated) bool {
	if !w.spend(1) || w.full() {
		return false
	}
	if n.always || n.nullable && v == nil {
		return true
	}
	if n.never {
		return w.fail(n, v, fault{keyword: "false"})
	}
	if !w.plain(n, v) {
		return false
	}
	own := ev
	if n.unevalProp != nil || n.unevalItem != nil {
		own = &evaluated{}
	}
	ok := true
	switch v := v.(type) {
	case map[string]any:
		ok = w.object(n, v, own)
	case []any:
		ok = w.array(n, v, own)
	}
	if !ok && !w.report {
		return false
	}
	if !w.applied(n, v, own) {
		ok = false
	}
	if own == ev || !ok {
		return ok
	}
	if !w.unevaluated(n, v, own) {
		return false
	}
	if ev != nil {
		ev.merge(own)
	}
	return true
}

// below checks a member or an item.
func (w *walker) below(n *node, v any, st step, known bool) bool {
	if !w.report {
		return w.check(n, v, nil)
	}
	w.trail = append(w.trail, frame{step: st, known: known})
	ok := w.check(n, v, nil)
	w.trail.pop()
	return ok
}

// quiet checks without gathering violations.
func (w *walker) quiet(n *node, v any, ev *evaluated) bool {
	report := w.report
	w.report = false
	ok := w.check(n, v, ev)
	w.report = report
	return ok
}

// match matches a string within the budgets (T4). If that is not possible the walk ends: the string is a violation
// wherever the pattern stands, under "not" too.
func (w *walker) match(p *pattern, s string) bool {
	cost := p.cost(s)
	w.patternSteps -= cost
	if w.patternSteps >= 0 && w.backtracked < maxBacktracking && cost <= maxPatternSteps {
		var start time.Time
		if p.back != nil {
			start = time.Now()
		}
		matched, affordable := p.match(s)
		if p.back != nil {
			w.backtracked += time.Since(start)
		}
		if affordable {
			return matched
		}
	}
	if w.stop == nil {
		w.stop = errCostly
		c := w.violation(nil, s, fault{keyword: "pattern", pattern: p, costly: true})
		w.costly = &c
	}
	return false
}

// applied checks what applies to the same value.
func (w *walker) applied(n *node, v any, ev *evaluated) bool {
	ok := true
	for _, c := range [2]*node{n.ref, n.dynRef} {
		if c != nil && !w.check(c, v, ev) {
			if ok = false; !w.report {
				return false
			}
		}
	}
	for _, c := range n.allOf {
		if !w.check(c, v, ev) {
			if ok = false; !w.report {
				return false
			}
		}
	}
	if n.anyOf != nil && !w.anyOf(n, v, ev) || n.oneOf != nil && !w.oneOf(n, v, ev) {
		if ok = false; !w.report {
			return false
		}
	}
	if n.not != nil && w.quiet(n.not, v, nil) {
		ok = w.fail(n, v, fault{keyword: "not"})
	}
	if n.cond != nil && !w.conditional(n, v, ev) {
		ok = false
	}
	return ok && w.stop == nil
}

func (w *walker) conditional(n *node, v any, ev *evaluated) bool {
	branch := n.orElse
	var tried *evaluated
	if ev != nil {
		tried = &evaluated{}
	}
	if w.quiet(n.cond, v, tried) {
		branch = n.then
		ev.merge(tried)
	}
	return branch == nil || w.check(branch, v, ev)
}

// evaluated is what unevaluatedProperties and unevaluatedItems ask about: which members and items a schema looked at.
// A nil one keeps nothing.
type evaluated struct {
	allProps bool
	props    map[string]struct{}
	allItems bool
	first    int // items
	items    map[int]struct{}
}

func (ev *evaluated) prop(k string) {
	if ev == nil {
		return
	}
	if ev.props == nil {
		ev.props = make(map[string]struct{})
	}
	ev.props[k] = struct{}{}
}

func (ev *evaluated) item(i int) {
	if ev == nil {
		return
	}
	if ev.items == nil {
		ev.items = make(map[int]struct{})
	}
	ev.items[i] = struct{}{}
}

func (ev *evaluated) merge(of *evaluated) {
	if ev == nil || of == nil {
		return
	}
	ev.allProps = ev.allProps || of.allProps
	ev.allItems = ev.allItems || of.allItems
	ev.first = max(ev.first, of.first)
	for k := range of.props {
		ev.prop(k)
	}
	for i := range of.items {
		ev.item(i)
	}
}

// unevaluated checks members and items that nothing before looked at.
func (w *walker) unevaluated(n *node, v any, ev *evaluated) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if n.unevalProp == nil {
			return true
		}
		for _, k := range w.names(v) {
			if _, seen := ev.props[k]; !seen && !ev.allProps {
				ok = w.extra(n, n.unevalProp, k, v[k], "unevaluatedProperties") && ok
			}
		}
		ev.allProps = true
	case []any:
		if n.unevalItem == nil {
			return true
		}
		for i := ev.first; i < len(v) && !ev.allItems; i++ {
			if _, seen := ev.items[i]; !seen {
				ok = w.below(n.unevalItem, v[i], step{array: true, index: i}, false) && ok
			}
		}
		ev.allItems = true
	}
	return ok
}
