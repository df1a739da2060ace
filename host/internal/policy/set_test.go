package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/cost"
)

func compile(t testing.TB, fallback Action, rules ...Rule) *Set {
	t.Helper()
	s, faults := Compile(fallback, rules)
	if len(faults) > 0 {
		t.Fatalf("faults: %+v", faults)
	}
	return s
}

func TestStrictestWins(t *testing.T) {
	allow := Rule{Action: Allow, Tool: "*", Name: "a", Source: "f:1"}
	ask := Rule{Action: Ask, Tool: "db_*", Source: "f:2"}
	deny := Rule{Action: Deny, Tool: "db_drop", Name: "d", Source: "f:3"}
	second := Rule{Action: Deny, Tool: "db_drop", Name: "second"}
	for _, tt := range []struct {
		name  string
		tool  string
		rules []Rule
		want  Decision
	}{
		{"default", "x", nil, Decision{Allow, "default", "", "no rule matches"}},
		{"allow", "x", []Rule{deny, ask, allow}, Decision{Allow, "a", "f:1", "tool *"}},
		{"ask beats allow", "db_get", []Rule{allow, ask, deny}, Decision{Ask, "rule 2", "f:2", "tool db_*"}},
		{"deny beats all", "db_drop", []Rule{allow, ask, deny, second}, Decision{Deny, "d", "f:3", "tool db_drop"}},
		{"in any order", "db_drop", []Rule{second, deny, ask, allow}, Decision{Deny, "second", "", "tool db_drop"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := compile(t, Allow, tt.rules...).Decide(&Facts{Tool: tt.tool}, nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := new(Set).Decide(&Facts{}, nil); got.Action != Allow {
		t.Errorf("the zero set says %v", got)
	}
}

func TestMatchers(t *testing.T) {
	facts := Facts{Plugin: "files", Tool: "fs_read", Subject: "ada@example.org", Groups: []string{"staff", "ops-eu"}, Channel: "mcp"}
	for _, tt := range []struct {
		rule Rule
		deny bool // whether a deny rule matches
		same bool // whether an allow rule does the same
	}{
		{Rule{Tool: "fs_read"}, true, true},
		{Rule{Tool: "fs_*"}, true, true},
		{Rule{Tool: "*_read"}, true, true},
		{Rule{Tool: "*s*a*"}, true, true},
		{Rule{Tool: "fs_rea"}, false, true},
		{Rule{Tool: "FS_READ"}, false, true},
		{Rule{Tool: "fs_*_read"}, false, true},
		{Rule{Tool: "files/fs_read"}, true, true},
		{Rule{Tool: "*/fs_*"}, true, true},
		{Rule{Tool: "f*/*"}, true, true},
		{Rule{Tool: "other/*"}, false, true},
		{Rule{Plugin: "files"}, true, true},
		{Rule{Plugin: "file"}, false, true},
		{Rule{Plugin: "f*", Tool: "write"}, false, true},
		{Rule{Caller: Match{Subject: "*@example.org"}}, true, true},
		{Rule{Caller: Match{Subject: "*@example.com"}}, false, true},
		{Rule{Caller: Match{Group: "ops-*"}}, true, true},
		{Rule{Caller: Match{Group: "admin"}}, false, true},
		{Rule{Caller: Match{Channel: "mcp", Group: "staff"}}, true, true},
		{Rule{Caller: Match{Channel: "http", Group: "staff"}}, false, true},
		{Rule{Caller: Match{Tenant: "acme"}}, false, true},
		{Rule{Caller: Match{Tenant: "*"}}, true, false}, // the tenant is not known
		{Rule{Caller: Match{Subject: "*", Tenant: "**"}}, true, false},
	} {
		text, _ := json.Marshal(tt.rule)
		for action, want := range map[Action]bool{Deny: tt.deny, Ask: tt.deny, Allow: tt.deny == tt.same} {
			tt.rule.Action = action
			fallback := Allow
			if action == Allow {
				fallback = Deny
			}
			got := compile(t, fallback, tt.rule).Decide(&facts, nil).Action == action
			if got != want {
				t.Errorf("%s: action %d matches: %t, want %t", text, action, got, want)
			}
		}
	}
}

// TestT20_LyingHints: a tool that deletes and says that it only reads gets by no rule, unless its plugin is
// trusted.
func TestT20_LyingHints(t *testing.T) {
	yes, no := new(true), new(false)
	allowReaders := compile(t, Ask, Rule{Action: Allow, Hints: Hints{ReadOnly: yes}})
	askDestroyers := compile(t, Allow, Rule{Action: Ask, Hints: Hints{Destructive: yes}})
	for _, tt := range []struct {
		name                  string
		hints                 Hints
		trusted               bool
		readers, destroyers   Action
		idempotent, openWorld bool
	}{
		{"liar", Hints{yes, no, yes, no}, false, Ask, Ask, false, true},
		{"silent", Hints{}, false, Ask, Ask, false, true},
		{"trusted reader", Hints{ReadOnly: yes}, true, Allow, Allow, true, true},
		{"trusted and silent", Hints{}, true, Ask, Ask, false, true},
		{"trusted writer", Hints{ReadOnly: no, Destructive: no, OpenWorld: no}, true, Ask, Allow, false, false},
		{"trusted contradiction", Hints{ReadOnly: yes, Destructive: yes}, true, Allow, Ask, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &Facts{Tool: "x", Hints: tt.hints, Trusted: tt.trusted}
			if got := allowReaders.Decide(f, nil).Action; got != tt.readers {
				t.Errorf("allow readers: %d, want %d", got, tt.readers)
			}
			if got := askDestroyers.Decide(f, nil).Action; got != tt.destroyers {
				t.Errorf("ask destroyers: %d, want %d", got, tt.destroyers)
			}
			s := compile(t, Allow, Rule{Action: Deny, Hints: Hints{Idempotent: &tt.idempotent, OpenWorld: &tt.openWorld}})
			if got := s.Decide(f, nil).Action; got != Deny {
				t.Errorf("idempotent or open world is not %t, %t", tt.idempotent, tt.openWorld)
			}
		})
	}
}

func TestVisible(t *testing.T) {
	cond := []Condition{{Path: "/a", Exists: new(true)}}
	any := Rule{Tool: "*"}
	with := func(a Action, c []Condition) Rule { r := any; r.Action, r.Input = a, c; return r }
	for _, tt := range []struct {
		name      string
		fallback  Action
		rules     []Rule
		mildest   Action
		strictest Action
	}{
		{"nothing", Allow, nil, Allow, Allow},
		{"default ask", Ask, nil, Ask, Ask},
		{"default deny", Deny, nil, Deny, Deny},
		{"bare deny", Allow, []Rule{with(Allow, nil), with(Deny, nil)}, Deny, Deny},
		{"deny by input", Allow, []Rule{with(Deny, cond)}, Allow, Deny},
		{"bare ask", Allow, []Rule{with(Ask, nil), with(Allow, nil)}, Ask, Ask},
		{"ask or deny", Allow, []Rule{with(Ask, nil), with(Deny, cond)}, Ask, Deny},
		{"default deny, ask by input", Deny, []Rule{with(Ask, cond)}, Ask, Deny},
		{"default deny, allow by input", Deny, []Rule{with(Allow, cond)}, Allow, Deny},
		{"default deny, bare allow", Deny, []Rule{with(Allow, nil)}, Allow, Allow},
		{"default ask, deny by input", Ask, []Rule{with(Deny, cond)}, Ask, Deny},
		{"default deny, bare ask", Deny, []Rule{with(Ask, nil)}, Ask, Ask},
		{"default deny, ask of somebody, nobody known", Deny, []Rule{{Action: Ask, Caller: Match{Subject: "*"}}}, Deny, Deny},
		{"ask of somebody, nobody known", Allow, []Rule{{Action: Ask, Caller: Match{Subject: "*"}}}, Ask, Ask},
		{"deny of somebody, nobody known", Allow, []Rule{{Action: Deny, Caller: Match{Subject: "*"}}}, Deny, Deny},
		{"deny of another tool", Allow, []Rule{{Action: Deny, Tool: "other"}}, Allow, Allow},
		{"deny of another caller", Allow, []Rule{{Action: Deny, Caller: Match{Channel: "mcp"}}}, Allow, Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, tt.fallback, tt.rules...)
			f := &Facts{Tool: "x", Channel: "terminal"}
			mildest, strictest := s.Bounds(f)
			if mildest != tt.mildest || strictest != tt.strictest {
				t.Errorf("bounds %d, %d, want %d, %d", mildest, strictest, tt.mildest, tt.strictest)
			}
			if got := s.Visible(f); got != (tt.mildest != Deny) {
				t.Errorf("visible %t", got)
			}
		})
	}
}

func TestWhySaysHowItHeld(t *testing.T) {
	s := compile(t, Allow, Rule{Action: Deny, Tool: "x", Input: []Condition{{Path: "/path", Matches: "/etc/*"}}, Name: "n"})
	for input, want := range map[string]string{
		`{"path":"/etc/passwd"}`: "tool x; input /path matches /etc/*",
		`{"path":["/etc"]}`:      "tool x; input /path matches /etc/*; what is not known, or cannot be tested, counts as met",
		`{"path":`:               "tool x; input /path matches /etc/*; the input cannot be read, so every condition counts as met",
		`{"path":"/srv/secret"}`: "no rule matches",
	} {
		if got := s.Decide(&Facts{Tool: "x"}, []byte(input)).Why; got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

func TestCompileFaults(t *testing.T) {
	cond := func(c Condition) Rule { return Rule{Tool: "x", Input: []Condition{c}} }
	for _, tt := range []struct {
		rule Rule
		at   string
		want string
	}{
		{Rule{}, "", "matches every call"},
		{Rule{Action: 3, Tool: "x"}, "", "no action"},
		{Rule{Plugin: "a/b"}, "/plugin", "no slash"},
		{Rule{Tool: "db.*"}, "/tool", "ids hold"},
		{Rule{Tool: "a/b/c"}, "/tool", "ids hold"},
		{Rule{Tool: "/b"}, "/tool", "plugin/id"},
		{Rule{Tool: "b/"}, "/tool", "plugin/id"},
		{Rule{Caller: Match{Group: strings.Repeat("x", 1025)}}, "/caller/group", "1 KiB"},
		{cond(Condition{Path: "/a"}), "/input/~1a", "no test"},
		{cond(Condition{Path: "a", Exists: new(true)}), "/input/a", "JSON Pointer"},
		{cond(Condition{Path: "/~2", Exists: new(true)}), "/input/~1~02", "JSON Pointer"},
		{cond(Condition{Path: "/a", Equals: []byte("{")}), "/input/~1a/equals", "no JSON"},
		{cond(Condition{Path: "/a", NotEquals: []byte("1 2")}), "/input/~1a/notEquals", "no JSON"},
		{cond(Condition{Path: "/a", Matches: "re:(?=x)"}), "/input/~1a/matches", "RE2"},
		{cond(Condition{Path: "/a", Matches: "re:a)|(?:b"}), "/input/~1a/matches", "RE2"},
		{cond(Condition{Path: "/a", Matches: `re:a\Q`}), "/input/~1a/matches", "RE2"},
		{cond(Condition{Path: "/a", Matches: "re:((a{1,30}){1,30}){1,3}"}), "/input/~1a/matches", ""},
		{cond(Condition{Path: "/a", Above: "x"}), "/input/~1a/above", "no number"},
		{cond(Condition{Path: "/a", Below: "1e99999999"}), "/input/~1a/below", "no number"},
		{cond(Condition{Path: "/a", Above: "2", Below: "1"}), "/input/~1a/below", "no number is above 2 and below 1"},
		{cond(Condition{Path: "/a", Exists: new(false), Equals: []byte("1")}), "/input/~1a/exists", "nothing"},
	} {
		_, faults := Compile(Allow, []Rule{{Tool: "*"}, tt.rule})
		if len(faults) != 1 {
			t.Errorf("%+v: faults %+v, want one", tt.rule, faults)
			continue
		}
		if f := faults[0]; f.Rule != 1 || f.At != tt.at || !strings.Contains(f.Message, tt.want) {
			t.Errorf("%+v: fault %+v, want %q at %s", tt.rule, f, tt.want, tt.at)
		}
	}
	if _, faults := Compile(7, nil); len(faults) != 1 || faults[0].Rule != -1 {
		t.Errorf("a wrong default: %+v", faults)
	}
}

func TestCanonical(t *testing.T) {
	a := Rule{Action: Deny, Tool: "a", Name: "n", Source: "f:1"}
	b := Rule{Action: Ask, Input: []Condition{{Path: "/x", Exists: new(true)}}}
	text := func(fallback Action, rules ...Rule) string {
		c, err := Canonical(fallback, rules)
		if err != nil {
			t.Fatal(err)
		}
		return string(c)
	}
	base := text(Allow, a, b)
	moved := a
	moved.Name, moved.Source = "", "f:9"
	if got := text(Allow, b, moved, moved); got != base {
		t.Errorf("names, sources and order count:\n%s\n%s", base, got)
	}
	zero := Condition{Path: "/x", Exists: new(true), Above: "0"}
	null := Condition{Path: "/x", Exists: new(true), Equals: []byte("null")}
	for _, other := range []string{
		text(Ask, a, b), text(Allow, a), text(Allow, a, Rule{Action: Ask, Input: []Condition{zero}}),
		text(Allow, a, Rule{Action: Ask, Input: []Condition{null}}),
	} {
		if other == base {
			t.Errorf("another set has the same text: %s", other)
		}
	}
}

// TestNoAllocation: a decision without conditions costs no memory.
func TestNoAllocation(t *testing.T) {
	s := compile(t, Allow,
		Rule{Action: Ask, Tool: "db_*", Caller: Match{Group: "ops*", Channel: "*"}},
		Rule{Action: Deny, Plugin: "x", Input: []Condition{{Path: "/a", Exists: new(true)}}},
		Rule{Action: Allow, Hints: Hints{ReadOnly: new(true)}},
	)
	f := Facts{Plugin: "db", Tool: "db_get", Groups: []string{"staff", "ops-eu"}, Trusted: true, Hints: Hints{ReadOnly: new(true)}}
	input := []byte(`{"a":1}`)
	if got := s.Decide(&f, input).Action; got != Ask {
		t.Fatalf("action %d", got)
	}
	if n := cost.Of(100, func() { s.Decide(&f, input); s.Visible(&f) }).Allocs; n != 0 {
		t.Errorf("%d allocations", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	rules := []Rule{{Action: Deny, Tool: "db_drop"}}
	for range 50 {
		rules = append(rules, Rule{Action: Ask, Tool: "db_*_write", Caller: Match{Group: "ops*"}})
	}
	s := compile(b, Allow, rules...)
	f := Facts{Plugin: "db", Tool: "db_get", Groups: []string{"staff"}}
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(&f, nil)
	}
}
