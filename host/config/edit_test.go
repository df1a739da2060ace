package config

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestAdd(t *testing.T) {
	entries := []Entry{
		{Name: "b", Command: "/bin/b", Args: []string{"-y", "@a/b", "plain", "yes", "a: #b", ""}, Env: map[string]string{"Z": "1", "A": "\"q\"\x7f\u2028"}, Cwd: "/w"},
		{Name: "c", URL: "https://x/mcp", Headers: map[string]string{"Authorization": "Bearer ${T:-}"}},
	}
	const block = `  b:
    command: /bin/b
    args: ["-y", "@a/b", plain, "yes", "a: #b", ""]
    env:
      A: "\"q\"\u007f\u2028"
      Z: "1"
    cwd: /w
  c:
    url: "https://x/mcp"
    headers:
      Authorization: "Bearer ${T:-}"
`
	for _, tt := range []struct{ name, before, after string }{
		{"empty", "", "mcp:\n" + block},
		{"comment", "# mine", "# mine\nmcp:\n" + block},
		{"other blocks", "tools: {}   # none\r\nlimits:\n    call: 5s\n", "tools: {}   # none\r\nlimits:\n    call: 5s\nmcp:\n" + block},
		{"no line end", "tools: {}", "tools: {}\nmcp:\n" + block},
		{"block", "mcp:\n  # first\n  a: {command: x}   # one\n\ntools: {}\n", "mcp:\n" + block + "  # first\n  a: {command: x}   # one\n\ntools: {}\n"},
		{
			"indented otherwise", "mcp: # servers\n     a:\n          command: x\n",
			"mcp: # servers\n   " + strings.TrimSuffix(strings.ReplaceAll(block, "\n", "\n   "), "   ") + "     a:\n          command: x\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Add("f", []byte(tt.before), entries)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			f, err := Parse("f", got)
			if err != nil {
				t.Fatal(err)
			}
			var b Server
			for _, s := range f.Servers {
				if s.Name == "b" {
					b = s
				}
			}
			if diff := cmp.Diff(entries[0].Args, b.Args); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(entries[0].Env, b.Env); diff != "" {
				t.Errorf("env (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	for _, tt := range []struct{ before, want string }{
		{"{tools: {}}", "f: it is written in braces"},
		{"mcp: {}", "f: line 1: mcp is written on one line"},
		{"mcp: {x: {command: x}}", "f: line 1: mcp is written on one line"},
		{"tools: {}\nmcp: ~\n", "f:2:6: mcp: got null"},
		{"mcp:\n  b: {command: x}\n", "f: line 2: mcp has an entry b, which is not replaced"},
		{"plugins: {b: {path: x}}\n", "f:4:5: mcp.b: plugins has the same name"},
		{"nonsense: 1\n", "f:1:1: nonsense: unknown key"},
		{"tools: {}\n...\n", "f:2: "},
		{"  tools: {}\n", "f: its keys are indented"},
	} {
		before := []byte(tt.before)
		_, err := Add("f", before, []Entry{{Name: "b", Command: "x"}})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s…", tt.before, err, tt.want)
		}
		if !bytes.Equal(before, []byte(tt.before)) {
			t.Errorf("%q was changed to %q", tt.before, before)
		}
	}
}

// Whatever a client's file holds, what is written says the same.
func FuzzAdd(f *testing.F) {
	f.Add("x", "y\n\x7f", "#: {")
	f.Fuzz(func(t *testing.T, command, arg, value string) {
		if !utf8.ValidString(command + " " + arg + " " + value) {
			return // JSON has no such texts
		}
		e := Entry{Name: "a", Command: "/" + command, Args: []string{arg}, Env: map[string]string{"A": value}}
		text, err := Add("f", []byte("tools: {}\n"), []Entry{e})
		if err != nil {
			return
		}
		file, err := Parse("f", text)
		if err != nil {
			t.Fatal(err)
		}
		same := func(got, want string) bool {
			return strings.Contains(want, "${") || got == want
		}
		if s := file.Servers[0]; !same(s.Args[0], arg) || !same(s.Env["A"], value) {
			t.Errorf("got %q and %q, want %q and %q, in\n%s", s.Args[0], s.Env["A"], arg, value, text)
		}
	})
}
