package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/host"
)

type policyJSON struct {
	Default host.Action `json:"default"`
	Rules   []ruleJSON  `json:"rules"`
}

type ruleJSON struct {
	Name  string     `json:"name"`
	Allow *matchJSON `json:"allow"`
	Ask   *matchJSON `json:"ask"`
	Deny  *matchJSON `json:"deny"`
}

type matchJSON struct {
	Plugin      string              `json:"plugin"`
	Tool        string              `json:"tool"`
	Caller      host.CallerMatch    `json:"caller"`
	Annotations host.RuleHints      `json:"annotations"`
	Input       map[string]testJSON `json:"input"`
}

type testJSON struct {
	Equals    json.RawMessage `json:"equals"`
	NotEquals json.RawMessage `json:"notEquals"`
	Matches   string          `json:"matches"`
	Above     json.Number     `json:"above"`
	Below     json.Number     `json:"below"`
	Exists    *bool           `json:"exists"`
}

// policy reads the block policy. The rules are compiled, so that what is wrong with one is a fault with its
// place.
func (d *decoder) policy(path string, in policyJSON, aliases map[string]string) host.Policy {
	out := host.Policy{Default: in.Default}
	var places []string // of the rules' matchers
	for i, r := range in.Rules {
		at := "/policy/rules/" + strconv.Itoa(i)
		action, match, ok := r.action()
		if !ok {
			d.fault(at, "write one of allow, ask and deny")
			continue
		}
		line, _ := d.doc.at(at, false)
		rule := match.rule()
		rule.Action, rule.Name, rule.Source = action, r.Name, fmt.Sprintf("%s:%d", path, line)
		out.Rules = append(out.Rules, rule)
		places = append(places, at+"/"+action.String())
		if target, is := aliases[rule.Tool]; is {
			d.fault(at+"/"+action.String()+"/tool", rule.Tool+" is another name for "+target+"; rules want the tool's own")
		}
	}
	_, err := out.Compile()
	if invalid, ok := errors.AsType[*host.PolicyError](err); ok {
		for _, f := range invalid.Faults {
			at := "/policy"
			if f.Rule >= 0 {
				at = places[f.Rule]
			}
			d.fault(at+f.Path, f.Message)
		}
	} else if err != nil {
		d.fault("/policy", err.Error())
	}
	return out
}

// action returns the one action that the rule has.
func (r *ruleJSON) action() (action host.Action, match *matchJSON, ok bool) {
	for a, m := range []*matchJSON{host.Allow: r.Allow, host.Ask: r.Ask, host.Deny: r.Deny} {
		if m == nil {
			continue
		}
		if match != nil {
			return 0, nil, false
		}
		action, match = host.Action(a), m
	}
	return action, match, match != nil
}

func (m *matchJSON) rule() host.Rule {
	out := host.Rule{Plugin: m.Plugin, Tool: m.Tool, Caller: m.Caller, Annotations: m.Annotations}
	for _, path := range slices.Sorted(maps.Keys(m.Input)) {
		t := m.Input[path]
		out.Input = append(out.Input, host.Condition{
			Path: path, Equals: t.Equals, NotEquals: t.NotEquals, Matches: t.Matches, Above: t.Above, Below: t.Below, Exists: t.Exists,
		})
	}
	return out
}
