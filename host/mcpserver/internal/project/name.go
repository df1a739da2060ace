package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// Lengths of names (R8).
const (
	maxName    = 64 // that models take, prefixes of clients included
	maxBudget  = 40
	hashDigits = 8
)

// Names gives every tool, and every alias, the name by which MCP clients call it. tools are those of
// host.ToolsFor; budget is how many characters clients put in front of a name, 0 to 40. Names depend on the set of
// tools alone, not on its order (R11), and are unique:
//
//   - a tool is called by its id, as plugin__id if two plugins have that id or prefix is set (R11), an alias by itself
//   - characters other than A-Z a-z 0-9 _ - are escaped as _xHH, which can be turned back (R9); an id has none, and stays as it is also
//     where it looks like that, as the ids of imported tools do
//   - a name of more than 64 - budget characters is cut and gets a hash of the whole (R8, R10), and so does one
//     that two of these rules would give to two tools
func Names(tools []host.Tool, prefix bool, budget int) []Name {
	limit := maxName - min(max(budget, 0), maxBudget)
	rows := namedTools(tools, prefix)
	wanted := map[string]int{}
	for _, r := range rows {
		wanted[r.want]++
	}
	taken := map[string]bool{}
	for i, r := range rows {
		switch {
		case len(r.want) > limit:
			rows[i].Why = fmt.Sprintf("%d characters are over %d", len(r.want), limit)
		case wanted[r.want] > 1:
			rows[i].Why = "another tool would have that name"
		default:
			rows[i].Name, taken[r.want] = r.want, true
		}
	}
	for i, r := range rows {
		for n := 0; rows[i].Name == ""; n++ {
			if name := r.hashed(limit, n); !taken[name] {
				rows[i].Name, taken[name] = name, true
			}
		}
	}
	return rows
}

// Name is a tool with its name.
type Name struct {
	Tool host.Tool // its Plugin and ID say what to call: Plugin + "/" + ID
	Name string    // that it got
	Why  string    // it is none of its id, its alias and plugin__id by prefix; empty: it is
	full string    // plugin/id, for an alias with the alias behind it: what the name is for
	want string    // its name if nothing speaks against it
}

// String says what is called how, and why.
func (r Name) String() string {
	return fmt.Sprintf("tool %s is exported as %s: %s", r.full, r.Name, r.Why)
}

// hashed is the name cut to a limit, with a hash of what it is for.
func (r Name) hashed(limit, n int) string {
	what := r.full
	if n > 0 {
		what += fmt.Sprintf("\x00%d", n)
	}
	sum := sha256.Sum256([]byte(what))
	return r.want[:min(len(r.want), limit-hashDigits-1)] + "_" + hex.EncodeToString(sum[:])[:hashDigits]
}

// namedTools are the rows of the tools, in an order that is always the same.
func namedTools(tools []host.Tool, prefix bool) []Name {
	owners := map[string]map[string]bool{} // id -> plugins
	for _, t := range tools {
		if owners[t.ID] == nil {
			owners[t.ID] = map[string]bool{}
		}
		owners[t.ID][t.Plugin] = true
	}
	rows := make([]Name, 0, len(tools))
	for _, t := range tools {
		r := Name{Tool: t, full: t.Plugin + "/" + t.ID}
		plain := ""
		switch others := len(owners[t.ID]) - 1; {
		case t.Name != "" && t.Name != t.ID && t.Name != r.full:
			plain = t.Name
			r.full += " (alias " + t.Name + ")"
			r.want = fitting(t.Name)
		case prefix || others > 0:
			plain = t.Plugin + "__" + t.ID
			r.want = fitting(t.Plugin) + "__" + fitting(t.ID)
			if !prefix {
				r.Why = "other plugins have a tool of that id too"
			}
		default:
			plain = t.ID
			r.want = fitting(t.ID)
		}
		if r.want != plain {
			r.Why = "clients take letters, digits, _ and - only"
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Name) int { return strings.Compare(a.full, b.full) })
	return slices.CompactFunc(rows, func(a, b Name) bool { return a.full == b.full })
}

// fitting is the name itself if clients take it, else its escaped form.
func fitting(name string) string {
	for i := range len(name) {
		if !isPlain(name[i]) {
			return escapeName(name)
		}
	}
	return name
}

func isPlain(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

var escaped = regexp.MustCompile(`_x([0-9a-f]{2})`)

// escapeName maps a name to the characters that clients take, such that it can be given back (R9). Names without
// other characters stay as they are, unless they have an escape in them by chance.
func escapeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := isPlain(c)
		if c == '_' && len(name) >= i+4 && escaped.MatchString(name[i:i+4]) {
			plain = false
		}
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_x%02x", c)
		}
	}
	return b.String()
}
