package policy

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	maxPattern = 1 << 10    // bytes of a pattern, an expression or a path
	maxProgram = 2_000      // instructions of an expression
	maxMatch   = 10_000_000 // instructions times bytes of text of one match, about 0.2 s (T4)
)

// condition is a compiled Condition.
type condition struct {
	path      []step
	exists    *bool
	equals    *any // nil: not given
	notEquals *any
	matches   func(string) verdict // nil: not given
	above     *number
	below     *number
}

// holds decides over all places. A verdict of unknown means that it holds because it cannot be applied.
func (c *condition) holds(input any, action Action) verdict {
	if action == Allow {
		all := yes
		places(input, c.path, func(v any, there bool) bool {
			if c.test(v, there) != yes {
				all = no
			}
			return all == yes
		})
		return all
	}
	one := no
	places(input, c.path, func(v any, there bool) bool {
		one = max(one, c.test(v, there))
		return one != yes
	})
	return one
}

// test applies every test to one place.
func (c *condition) test(v any, there bool) verdict {
	if c.exists != nil && *c.exists != there {
		return no
	}
	if !there {
		switch {
		case c.equals != nil || c.matches != nil || c.above != nil || c.below != nil:
			return no
		case c.notEquals != nil:
			return unknown
		}
		return yes
	}
	all := yes
	if c.equals != nil {
		all = min(all, same(v, *c.equals))
	}
	if c.notEquals != nil {
		all = min(all, yes-same(v, *c.notEquals))
	}
	if c.matches != nil {
		if text, ok := v.(string); ok {
			all = min(all, c.matches(text))
		} else {
			all = min(all, unknown)
		}
	}
	if c.above != nil || c.below != nil {
		all = min(all, c.between(v))
	}
	return all
}

func (c *condition) between(v any) verdict {
	text, ok := v.(json.Number)
	if !ok {
		return unknown
	}
	n, ok := parseNumber(text)
	if !ok {
		return unknown
	}
	return truth((c.above == nil || n.compare(*c.above) > 0) && (c.below == nil || n.compare(*c.below) < 0))
}

// compileCondition reports what is wrong by the name of the test, or "" for the path.
func compileCondition(in Condition, action Action, fault func(test, message string)) (c condition) {
	var ok bool
	if len(in.Path) > maxPattern {
		fault("", "the path is longer than 1 KiB")
	} else if c.path, ok = parsePath(in.Path); !ok {
		fault("", "no JSON Pointer; write it like /path or /items/*/name, with ~0 for ~ and ~1 for / in a name")
	}
	c.equals = compileValue(in.Equals, "equals", fault)
	c.notEquals = compileValue(in.NotEquals, "notEquals", fault)
	if in.Matches != "" {
		var message string
		if c.matches, message = compileMatch(in.Matches, action); message != "" {
			fault("matches", message)
		}
	}
	c.above = compileNumber(in.Above, "above", fault)
	c.below = compileNumber(in.Below, "below", fault)
	if c.above != nil && c.below != nil && c.above.compare(*c.below) >= 0 {
		fault("below", "no number is above "+clip(string(in.Above))+" and below "+clip(string(in.Below)))
	}
	c.exists = cloneBool(in.Exists)
	others := len(in.Equals)+len(in.NotEquals)+len(in.Matches)+len(in.Above)+len(in.Below) > 0
	switch {
	case c.exists == nil && !others:
		fault("", "no test; write one of equals, notEquals, matches, above, below, exists")
	case c.exists != nil && !*c.exists && others:
		fault("exists", "where nothing is there is nothing to test; leave the other tests out")
	}
	return c
}

func compileValue(text json.RawMessage, test string, fault func(test, message string)) *any {
	if len(text) == 0 {
		return nil
	}
	v, ok := decode(text)
	if !ok {
		fault(test, "no JSON value")
	}
	return &v
}

func compileNumber(text json.Number, test string, fault func(test, message string)) *number {
	if text == "" {
		return nil
	}
	n, ok := parseNumber(text)
	if !ok {
		fault(test, clip(string(text))+" is no number that can be compared")
		return nil
	}
	return &n
}

// compileMatch returns the test of a text, or what is wrong with the pattern.
func compileMatch(pattern string, action Action) (match func(string) verdict, message string) {
	if len(pattern) > maxPattern {
		return nil, "longer than 1 KiB"
	}
	expression, isExpression := strings.CutPrefix(pattern, "re:")
	if !isExpression {
		g := newGlob(pattern)
		return func(s string) verdict { return truth(g.match(s)) }, ""
	}
	// Parsed alone first, so that a stray parenthesis cannot close the group that is put around it.
	if _, err := syntax.Parse(expression, syntax.Perl); err != nil {
		return nil, "no RE2 expression: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	if action == Allow {
		expression = `\A(?s:` + expression + `)\z`
	} else {
		expression = `(?s:` + expression + `)`
	}
	re, size, err := compileExpression(expression)
	switch {
	case err != nil:
		return nil, "no RE2 expression: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	case size > maxProgram:
		return nil, "the expression is too large: its program has more than 2,000 instructions"
	}
	return func(s string) verdict {
		if size*(len(s)+1) > maxMatch {
			return unknown
		}
		return truth(re.MatchString(s))
	}, ""
}

// compileExpression also returns the number of instructions.
func compileExpression(text string) (re *regexp.Regexp, size int, err error) {
	if re, err = regexp.Compile(text); err != nil {
		return nil, 0, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err
	}
	return re, len(program.Inst), nil
}
