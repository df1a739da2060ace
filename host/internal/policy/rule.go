package policy

import "encoding/json"

// Action is what a rule says. The greater one is the stricter one.
type Action int

// The actions.
const (
	Allow Action = iota
	Ask
	Deny
)

// Rule is one rule as it was written. An empty field matches everything; a rule without any is refused.
type Rule struct {
	Action Action
	Plugin string // pattern of the plugin's name
	Tool   string // pattern of the tool's id, or of plugin/id
	Caller Match
	Hints  Hints
	Input  []Condition // all must hold

	Name, Source string // for Decision; may be empty
}

// Match holds patterns of who calls.
type Match struct{ Subject, Group, Channel, Tenant string }

// Hints are the annotations of a tool, or what a rule asks of them. nil says nothing.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// Condition is about one place of the input, or several if Path has a *. At least one test must be there; all
// that are must hold at the same place.
type Condition struct {
	Path      string          // JSON Pointer; * stands for every member or item of one level
	Equals    json.RawMessage `json:",omitempty"` // numbers by value, objects without order
	NotEquals json.RawMessage `json:",omitempty"`
	Matches   string          // a pattern, or re: and an RE2 expression in which . matches line ends too
	Above     json.Number     `json:",omitempty"` // exclusive
	Below     json.Number     `json:",omitempty"` // exclusive
	Exists    *bool           // false: nothing is there; no other test goes with it
}

// Facts are what is known of a call before its input is looked at.
type Facts struct {
	Plugin, Tool             string // Tool is the id
	Hints                    Hints  // the plugin's own word
	Trusted                  bool   // whether it counts (T20)
	Subject, Channel, Tenant string
	Groups                   []string
}

// Decision says what is to be done and which rule says so.
type Decision struct {
	Action Action
	Rule   string // its name, else "rule" and its number from 1; "default" if none matched
	Source string // where it was written; may be empty
	Why    string // what of the rule matched; nothing of the input
}

// Fault is one thing that is wrong with a rule.
type Fault struct {
	Rule    int    // index
	At      string // JSON Pointer within the rule, such as /caller/group or /input/~1path/matches
	Message string
}
