package project

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// What is said of a pattern is what node 20 and 22 say of it with the u flag.
func TestR7_PatternsThatClientsTake(t *testing.T) {
	for pattern, want := range map[string]string{
		`^[a-z]+\.\d{2,}$`: "yes", `\/\^\$\|`: "yes", `[\w-]`: "yes", `[a\-b]`: "yes", `\p{Lu}\P{L}`: "yes", `\u{1F600}[😀-🙏]`: "yes", `(?<n>a)(?:b|c)*?`: "yes", ``: "yes", `[]`: "yes", `[^]`: "yes", `\0\cA\x41\u0041`: "yes",
		`^(?!a)b`: "looks", `(?<=a)b`: "looks", `(a)\1`: "looks", `(?<n>a)\k<n>`: "looks",
		`\-`: "no", `\_`: "no", `\A`: "no", `\z`: "no", `(?i)a`: "no", `(?P<n>a)`: "no", `[\w-.]`: "no", `a{,3}`: "no", `[[:alpha:]]`: "no", `]`: "no", `}`: "no", `{`: "no", `*`: "no", `a**`: "no", `^*`: "no", `[z-a]`: "no",
		`(?=a)*`: "no", `\1`: "no", `\k<n>`: "no", `(?<n>a)(?<n>b)`: "no", `\p{Foo}`: "no", `\01`: "no", `a{3,2}`: "no", `(`: "no", `)`: "no", `[a`: "no", `\`: "no", `\u{110000}`: "no", "\xff": "no",
		strings.Repeat("(", 500) + strings.Repeat(")", 500): "no",
	} {
		got := "no"
		if portable(pattern) {
			got = "yes"
		}
		if lookAround(pattern) {
			got = "looks"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", pattern, got, want)
		}
	}
	in := raw(`{"type":"object","properties":{"a":{"pattern":"^(?!x)"},"b":{"items":{"pattern":"\\z"}},"c":{"pattern":"ok"}},"patternProperties":{"(?i)x":{}}}`)
	entry, warnings := listedWith(host.Tool{InputSchema: in}, "t", Legacy, false)
	if o, _ := rawjson.ParseObject(entry); string(o.Get("inputSchema")) != string(in) {
		t.Errorf("the schema was changed: %s", entry)
	}
	for _, says := range []string{"/inputSchema/properties/a/pattern: the host enforces the pattern, clients whose engine", "/inputSchema/properties/b/items/pattern: the host enforces the pattern, clients may refuse", "/inputSchema/patternProperties/(?i)x: "} {
		if !strings.Contains(strings.Join(warnings, "\n"), says) || len(warnings) != 3 {
			t.Errorf("no %q in %q", says, warnings)
		}
	}
}

func FuzzR7_Patterns(f *testing.F) {
	f.Add(`(?<n>a)[\w-]\p{L}\u{41}{2,3}`)
	f.Fuzz(func(t *testing.T, pattern string) {
		if lookAround(pattern) && !portable(pattern) {
			t.Fatal(pattern)
		}
	})
}
