package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadResultsNamesScenarios(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{
		"server-server-initialize-2026-11-30T09-48-36-123Z", "server-ping-2026-11-30T09-48-36-123Z", "server-elicitation-sep1034-defaults-2026-11-30T09-48-36-123Z",
	} {
		write(t, filepath.Join(dir, d, "checks.json"), `[{"id":"a","status":"SUCCESS","timestamp":"x"}]`)
	}
	write(t, filepath.Join(dir, "said.txt"), "no JSON")
	got, err := readResults(dir, "server")
	if err != nil {
		t.Fatal(err)
	}
	one := []check{{ID: "a", Status: "SUCCESS"}}
	if diff := cmp.Diff(map[string][]check{"server-initialize": one, "ping": one, "elicitation-sep1034-defaults": one}, got); diff != "" {
		t.Error(diff)
	}

	dir = t.TempDir()
	write(t, filepath.Join(dir, "auth", "basic-cimd-2026-11-30T09-48-36-123Z", "checks.json"), `[]`)
	if got, err = readResults(dir, "client"); err != nil || cmp.Diff(map[string][]check{"auth/basic-cimd": {}}, got) != "" {
		t.Errorf("got %v, %v", got, err)
	}
	write(t, filepath.Join(dir, "ping", "checks.json"), `{`)
	if _, err := readResults(dir, "client"); err == nil {
		t.Error("a broken file was taken")
	}
}

func TestReadRequirements(t *testing.T) {
	file := filepath.Join(t.TempDir(), "set.yaml")
	write(t, file, `# a comment
server:
  - ping
client:
  - tools_call
not_scored:
  - scenario: tasks
    leg: server
    reason: extension
  - scenario: auth/dpop
    leg: client
    reason: pending
`)
	for side, want := range map[string][]scenario{
		"server": {{"ping", "scored"}, {"tasks", "extension"}},
		"client": {{"tools_call", "scored"}, {"auth/dpop", "pending"}},
	} {
		got, err := readRequirements(file, side)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(scenario{})); diff != "" {
			t.Errorf("%s: %s", side, diff)
		}
	}
	write(t, file, "server: []\n")
	if _, err := readRequirements(file, "server"); err == nil {
		t.Error("a set without scenarios was taken")
	}
}

func TestExpectedFailuresHaveReasons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expected.yml")
	write(t, file, "# all\nserver:\n  - a # no prompts\n  - b:c   # no resources\nclient:\n  - d # OAuth\n")
	got, err := readExpected(file, "server")
	if err != nil || !maps.Equal(got, map[string]string{"a": "no prompts", "b:c": "no resources"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"server:\n  - a\n":                ":2: a: say why",
		"server:\n  - a # x\n  - a # y\n": ":3: a is there twice",
		"server: [\n":                     "yaml",
	} {
		write(t, file, text)
		if _, err := readExpected(file, "server"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	write(t, file, "client:\n  - d # OAuth\n")
	if got, err := readExpected(file, "server"); err != nil || len(got) != 0 {
		t.Errorf("nothing is expected of the server: got %v, %v", got, err)
	}
}

// TestExpectedFailuresOfTheRepository holds that the files can be read, and that a tools-only server fails nothing but what is about other
// things.
func TestExpectedFailuresOfTheRepository(t *testing.T) {
	for _, r := range revisions {
		for _, side := range sides {
			reasons, err := readExpected(filepath.Join("..", "..", "tools", "mcp", r.expected), side)
			if err != nil {
				t.Fatal(err)
			}
			for name := range reasons {
				if side == "client" && !strings.HasPrefix(name, "auth/") || side == "server" && strings.HasPrefix(name, "tools-") {
					t.Errorf("%s: %s %s must pass", r.expected, side, name)
				}
			}
		}
	}
}

func TestJudge(t *testing.T) {
	pass, fail, warn := check{ID: "p", Status: "SUCCESS"}, check{ID: "f", Status: "FAILURE", Error: "it broke"}, check{ID: "w", Status: "WARNING"}
	info, skipped := check{ID: "i", Status: "INFO"}, check{ID: "s", Status: "SKIPPED"}
	for name, tt := range map[string]struct {
		expected []string
		checks   []check
		result   string
		ok       bool
	}{
		"passes":                                 {nil, []check{info, pass, skipped}, "pass", true},
		"fails":                                  {nil, []check{pass, fail}, "fail", false},
		"warns":                                  {nil, []check{pass, warn}, "fail", false},
		"nothing succeeded":                      {nil, []check{info, skipped}, "fail", false},
		"not run":                                {nil, nil, "not run", false},
		"fails as expected":                      {[]string{"x"}, []check{pass, fail}, "fail", true},
		"stale":                                  {[]string{"x"}, []check{pass}, "pass", false},
		"expected, but not run":                  {[]string{"x"}, nil, "not run", false},
		"a check fails as expected":              {[]string{"x:f"}, []check{pass, fail}, "pass", true},
		"another check fails":                    {[]string{"x:f"}, []check{pass, fail, warn}, "fail", false},
		"a check is stale":                       {[]string{"x:p"}, []check{pass}, "fail", false},
		"a check that repeats fails as expected": {[]string{"x:f"}, []check{pass, fail, {ID: "f", Status: "SUCCESS"}}, "pass", true},
	} {
		t.Run(name, func(t *testing.T) {
			expected := map[string]string{}
			for _, e := range tt.expected {
				expected[e] = "a reason"
			}
			got, err := judge([]scenario{{"x", "scored"}}, expected, map[string][]check{"x": tt.checks})
			if err != nil {
				t.Fatal(err)
			}
			if got[0].result != tt.result || got[0].ok != tt.ok || (got.bad() == 0) != tt.ok {
				t.Errorf("got %+v", got[0])
			}
			if marked := strings.Contains(got.String(), "WRONG"); marked == tt.ok {
				t.Errorf("the table does not say it:\n%s", got)
			}
		})
	}
	if _, err := judge([]scenario{{"x", "scored"}}, map[string]string{"y:z": "a reason"}, nil); err == nil {
		t.Error("an expected failure of no scenario was taken")
	}
}

func TestFindURL(t *testing.T) {
	for text, want := range map[string]string{
		"loading\nserving http://127.0.0.1:4711/mcp; end with Ctrl-C\nhttp://127.0.0.1:1/x\n": "http://127.0.0.1:4711/mcp",
		"listening on http://127.0.0.1:4711/mcp.":                                             "http://127.0.0.1:4711/mcp",
		"":                           "",
		"error: http://example.com/": "",
	} {
		url := make(chan string, 1)
		var copied strings.Builder
		findURL(strings.NewReader(text), &copied, url)
		if got := <-url; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
