package view

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/proto/wire"
)

// node is a place in the tree of all rules' paths.
type node struct {
	members map[string]*node // by name, or by the number of an element
	every   *node            // "*"
	ends    set              // rules with a path that ends here
	below   set              // rules with a path that goes on
}

func (n *node) insert(steps []string, rule set) {
	for _, step := range steps {
		n.below |= rule
		n = n.child(step)
	}
	n.ends |= rule
}

func (n *node) child(step string) *node {
	if step == "*" {
		if n.every == nil {
			n.every = &node{}
		}
		return n.every
	}
	c := n.members[jsonpointer.Unescape(step)]
	if c == nil {
		if n.members == nil {
			n.members = map[string]*node{}
		}
		c = &node{}
		n.members[jsonpointer.Unescape(step)] = c
	}
	return c
}

// parse cuts a JSON Pointer into its steps, which are still escaped.
func parse(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' {
		return nil, errors.New(`a JSON Pointer begins with "/"`)
	}
	steps := strings.Split(path[1:], "/")
	if len(steps) > wire.MaxViewDepth {
		return nil, fmt.Errorf("%d steps, the limit is %d", len(steps), wire.MaxViewDepth)
	}
	for _, step := range steps {
		for rest, found := step, true; found; {
			if _, rest, found = strings.Cut(rest, "~"); found && (rest == "" || rest[0] != '0' && rest[0] != '1') {
				return nil, errors.New(`"~" is written "~0", "/" within a step "~1"`)
			}
		}
	}
	return steps, nil
}
