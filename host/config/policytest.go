package config

import (
	_ "embed"
	"encoding/json"
	"os"
	"strconv"

	"github.com/toolhost/toolhost/host"
)

//go:embed policytest.schema.json
var policyTestSchema []byte

// PolicyTest is one row of a policy's test table: a call, and what the policy must say of it.
type PolicyTest struct {
	Line        int               // where it stands
	Name        string            // what it shows; may be empty
	Tool        string            // the tool's id if Plugin is given, else how it is called
	Plugin      string            // if not empty, the row's facts are all there are: the plugin need not exist
	Caller      host.Caller       // who calls
	Input       json.RawMessage   // empty: {}
	Annotations *host.Annotations // if not nil, in place of the tool's own
	Trusted     *bool             // if not nil, in place of what the configuration says of the plugin
	Want        host.Action       // what is to be said
	Hidden      bool              // and the tool must be hidden from the caller
}

// LoadPolicyTests reads the table in the file at path, as Load reads a configuration.
func LoadPolicyTests(path string) ([]PolicyTest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readBounded(f)
	if err != nil {
		return nil, err
	}
	return ParsePolicyTests(path, text)
}

// ParsePolicyTests reads the text of a table: a YAML list of maps with the keys tool and want (allow, ask,
// deny, or hidden, which is deny for every input), and name, plugin, caller {subject, groups, channel,
// session, tenant}, input, annotations {readOnly, destructive, idempotent, openWorld} and trusted. It has at
// least one row. The error is an *Error.
func ParsePolicyTests(path string, text []byte) ([]PolicyTest, error) {
	if len(text) > MaxSize {
		return nil, &Error{File: path, Faults: []Fault{{Message: "the file is larger than 1 MiB"}}}
	}
	doc, faults := parseYAML(text)
	if len(faults) > 0 {
		return nil, &Error{File: path, Faults: faults}
	}
	if err := check(path, doc, policyTestSchema); err != nil {
		return nil, err
	}
	var rows []testRowJSON
	if err := json.Unmarshal(doc.json, &rows); err != nil {
		return nil, &Error{File: path, Faults: []Fault{{Message: err.Error()}}}
	}
	var out []PolicyTest
	for i, r := range rows {
		row := PolicyTest{
			Name: r.Name, Tool: r.Tool, Plugin: r.Plugin, Caller: r.Caller, Input: r.Input, Trusted: r.Trusted,
			Want: host.Deny, Hidden: r.Want == "hidden",
		}
		row.Line, _ = doc.at("/"+strconv.Itoa(i), false)
		if !row.Hidden {
			if err := row.Want.UnmarshalText([]byte(r.Want)); err != nil { // the schema says that it is one
				return nil, &Error{File: path, Faults: []Fault{{Line: row.Line, Message: err.Error()}}}
			}
		}
		if a := r.Annotations; a != nil {
			row.Annotations = &host.Annotations{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}
		}
		out = append(out, row)
	}
	return out, nil
}

type testRowJSON struct {
	Name        string          `json:"name"`
	Tool        string          `json:"tool"`
	Plugin      string          `json:"plugin"`
	Caller      host.Caller     `json:"caller"`
	Input       json.RawMessage `json:"input"`
	Annotations *host.RuleHints `json:"annotations"`
	Trusted     *bool           `json:"trusted"`
	Want        string          `json:"want"`
}
