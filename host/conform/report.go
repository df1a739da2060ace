package conform

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/runes"
)

// State is how a check ended.
type State string

// The states.
const (
	OK      State = "ok"      // the plugin does what a host expects
	Failed  State = "failed"  // it does not
	Skipped State = "skipped" // it could not be seen; Check.Detail says why
)

// Check is the result of one check.
type Check struct {
	Name   string        // see the package comment
	State  State         //
	Detail string        // what was seen, or why nothing was
	Remedy string        // what to do; empty if there is nothing to do
	Took   time.Duration //
}

// MarshalJSON writes name, state, detail, remedy and tookMs.
func (c Check) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name   string `json:"name"`
		State  State  `json:"state"`
		Detail string `json:"detail"`
		Remedy string `json:"remedy,omitempty"`
		TookMS int64  `json:"tookMs"`
	}{c.Name, c.State, c.Detail, c.Remedy, c.Took.Milliseconds()})
}

// Report is what was seen of one plugin. It marshals to JSON.
type Report struct {
	Plugin    string   `json:"plugin"`              // its name
	Path      string   `json:"path"`                // of the binary
	SDK       string   `json:"sdk,omitempty"`       // as it says itself
	Version   string   `json:"version,omitempty"`   // the author's
	Manifest  string   `json:"manifest,omitempty"`  // hash, in hex
	Tools     []string `json:"tools"`               // ids
	Uncovered []string `json:"uncovered,omitempty"` // what of its sandbox this machine could not give
	Checks    []Check  `json:"checks"`              // in the order of the package comment
}

// Failures returns how many checks failed.
func (r *Report) Failures() int {
	n := 0
	for _, c := range r.Checks {
		if c.State == Failed {
			n++
		}
	}
	return n
}

// Check returns the result of a check; ok is false if it was not made.
func (r *Report) Check(name string) (c Check, ok bool) {
	for _, c := range r.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}

// Print writes the report for people: a line a check, and a line below it if there is something to do.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", r.Plugin, r.Path, strings.TrimSpace(r.SDK+" "+r.Version))
	for i := 0; i < len(r.Checks); i++ {
		c, names := r.Checks[i], r.Checks[i].Name
		for ; i+1 < len(r.Checks) && c.State == Skipped && r.Checks[i+1].State == Skipped && r.Checks[i+1].Detail == c.Detail; i++ {
			names += ", " + r.Checks[i+1].Name // for the same reason
		}
		fmt.Fprintf(&b, "%-8s %-10s %s\n", c.State, names, oneLine(c.Detail))
		if c.Remedy != "" {
			fmt.Fprintf(&b, "%-8s %-10s -> %s\n", "", "", oneLine(c.Remedy))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var breaks = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\r`)

// oneLine keeps a text on its line, and the line short enough to be read.
func oneLine(s string) string { return runes.Cut(breaks.Replace(s), 400) }
