package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

const full = `
# every key there is
plugins:
  webfetch:
    path: ./bin/toolplugin-webfetch
    args: [--verbose, "8"]
    env: {K: V, A_B: "1=2"}
    settings: {big: 12345678901234567890, small: 1e-7, hex: 0x10, list: [~, yes, on, 2020-01-01], "a/b~c": {}}
    sandbox: none
    trusted: true
    sha256: 0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef
    limits: {call: 1m30s, output: 8MiB}
  absolute: {path: /opt/p/../x}
  home: {path: ~/p}
tools:
  fetch: webfetch
  w2: absolute/weather
limits:
  describe: 4s
  start: 20s
  starts: 3
  ping: 16s
  pingWait: 4s
  call: 31s
  callMax: 11m
  drain: 1.5s
  grace: 3s
  reap: 1500ms
  backoffFirst: 300ms
  backoffMost: 31s
  circuit: 6
  message: 64MiB
  input: 2 MiB
  output: 1024
  values: 5
  depth: 6
`

func TestParse(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	got, err := Parse("etc/toolhost.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Path: "etc/toolhost.yaml",
		Plugins: []host.Plugin{
			{Name: "absolute", Path: "/opt/x"},
			{Name: "home", Path: "/home/ada/p"},
			{
				Name: "webfetch", Path: "etc/bin/toolplugin-webfetch", Args: []string{"--verbose", "8"}, Env: []string{"A_B=1=2", "K=V"},
				Settings: []byte(`{"big":12345678901234567890,"small":1e-7,"hex":16,"list":[null,"yes","on","2020-01-01"],"a/b~c":{}}`),
				Sandbox:  host.Sandbox{Profile: host.ProfileNone}, Trusted: true,
				SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
				Limits: host.Limits{Call: 90 * time.Second, Output: 8 << 20},
			},
		},
		Tools: map[string]string{"fetch": "webfetch", "w2": "absolute/weather"},
		Limits: host.Limits{
			Describe: 4 * time.Second, Start: 20 * time.Second, Starts: 3, Ping: 16 * time.Second, PingWait: 4 * time.Second,
			Call: 31 * time.Second, CallMax: 11 * time.Minute, Drain: 1500 * time.Millisecond, Grace: 3 * time.Second, Reap: 1500 * time.Millisecond,
			BackoffFirst: 300 * time.Millisecond, BackoffMost: 31 * time.Second, Circuit: 6,
			Message: 64 << 20, Input: 2 << 20, Output: 1024, Values: 5, Depth: 6,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(host.Config{Plugins: want.Plugins, Tools: want.Tools, Limits: want.Limits}, got.Config()); diff != "" {
		t.Errorf("Config (-want +got):\n%s", diff)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "{}", "~", "plugins: {}\ntools: {}\n"} {
		got, err := Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if len(got.Plugins)+len(got.Tools) > 0 || got.Limits != (host.Limits{}) {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestParseAliases(t *testing.T) {
	got, err := Parse("f", []byte("plugins:\n  a: {path: /a, limits: &l {call: 5s}}\n  b: {path: /b, limits: *l}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Plugins[1].Limits.Call; c != 5*time.Second {
		t.Errorf("b has %v, want what a has", c)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // the lines of the error, up to what the schema package words
	}{
		{"unknown key", "plugin: {}\n", []string{"f:1:1: plugin: unknown key; did you mean plugins?"}},
		{"later block", "tools: {}\nelsewhere: {}\n", []string{"f:2:1: elsewhere: unknown key; known are definitions, early, limits, mcp, plugins, policy, serve, tools"}},
		{"unknown plugin key", "plugins:\n  w:\n    path: x\n    setings: {}\n", []string{"f:4:5: plugins.w.setings: unknown key; did you mean settings?"}},
		{"unknown limit", "limits: {cal: 3s, fly: 1s}\n", []string{
			"f:1:10: limits.cal: unknown key; did you mean call or callMax?", "f:1:19: limits.fly: unknown key; known are backoffFirst, ",
		}},
		{"no path", "plugins:\n  w: {trusted: true}\n", []string{"f:2:3: plugins.w.path: is missing; write a text"}},
		{"no name", "plugins:\n  \"w w\": {path: x}\n", []string{`f:2:3: plugins.w w: got the name "w w"; write one that is matching ^[A-Za-z0-9_-]{1,64}$`}},
		{"no plugin", "plugins:\n  w:\n", []string{"f:2:5: plugins.w: got null; write a map of key: value"}},
		{"number in env", "plugins: {w: {path: x, env: {PORT: 8080}}}\n", []string{"f:1:36: plugins.w.env.PORT: got number 8080; write a text, in quotes"}},
		{"name of env", "plugins: {w: {path: x, env: {\"A=B\": c}}}\n", []string{"f:1:30: plugins.w.env"}},
		{"sandbox", "plugins: {w: {path: x, sandbox: paper}}\n", []string{`f:1:33: plugins.w.sandbox: got "paper"; write it like default, strict, none, {network: none}`}},
		{"key of sandbox", "plugins: {w: {path: x, sandbox: {netwrok: none}}}\n", []string{`f:1:34: plugins.w.sandbox.netwrok: unknown key; did you mean network?`}},
		{"profile of sandbox", "plugins: {w: {path: x, sandbox: {profile: x}}}\n", []string{`f:1:43: plugins.w.sandbox.profile: got "x"; write one of default strict none`}},
		{"umask", "plugins: {w: {path: x, sandbox: {umask: 077}}}\n", []string{`f:1:41: plugins.w.sandbox.umask: got number 63; write a text, in quotes`}},
		{"memory", "plugins: {w: {path: x, sandbox: {memory: 99999999999GiB}}}\n", []string{`f:1:42: plugins.w.sandbox.memory: 99999999999GiB is out of range`}},
		{"cpu", "plugins: {w: {path: x, sandbox: {cpu: 0s}}}\n", []string{`f:1:39: plugins.w.sandbox.cpu: "0s" is not above zero`}},
		{"root", "plugins: {w: {path: x, sandbox: {read: [/a, /]}}}\n", []string{`f:1:45: plugins.w.sandbox.read[1]: the root; name what the plugin needs of it`}},
		{"trusted", "plugins: {w: {path: x, trusted: yes}}\n", []string{`f:1:33: plugins.w.trusted: got string "yes"; write true or false`}},
		{"hash", "plugins: {w: {path: x, sha256: abc}}\n", []string{"f:1:32: plugins.w.sha256: "}},
		{"args", "plugins: {w: {path: x, args: --v}}\n", []string{"f:1:30: plugins.w.args: got string \"--v\"; write a list"}},
		{"item of args", "plugins: {w: {path: x, args: [a, 1]}}\n", []string{"f:1:34: plugins.w.args[1]: got number 1; write a text"}},
		{"plugin name", "plugins: {a b: {path: x}}\n", []string{"f:1:11: plugins.a b"}},
		{"alias", "tools: {a: b c}\n", []string{"f:1:12: tools.a: "}},
		{"duration", "limits:\n  call: 30\n", []string{"f:2:9: limits.call: got number 30; write it like 30s, "}},
		{"negative duration", "limits: {call: -3s}\n", []string{`f:1:16: limits.call: got "-3s"; write it like`}},
		{"zero duration", "limits: {call: 0s}\n", []string{`f:1:16: limits.call: "0s" is not above zero; leave the key out for the default`}},
		{"endless duration", "limits: {call: 99999999999h}\n", []string{`f:1:16: limits.call: "99999999999h" is out of range`}},
		{"size", "limits: {input: 1MB}\n", []string{`f:1:17: limits.input: got "1MB"; write it like 32MiB, `}},
		{"zero size", "limits: {input: 0KiB}\n", []string{`f:1:17: limits.input: 0KiB is not above zero`}},
		{"huge size", "limits: {input: 99GiB}\n", []string{`f:1:17: limits.input: 99GiB is more than 2 GiB`}},
		{"count", "limits: {depth: 1.5}\n", []string{"f:1:17: limits.depth: got number 1.5; write a whole number"}},
		{"two faults in order", "tools: [a]\nplugins: 3\n", []string{"f:1:8: tools: ", "f:2:10: plugins: "}},
		{"a list", "- a\n", []string{"f:1:1: "}},
		{"syntax", "plugins: {w: \n", []string{"f:1: no YAML: "}},
		{"tab", "plugins:\n\tw: {}\n", []string{"f:2: no YAML: found character that cannot start any token; indent with spaces, not with tabs"}},
		{"twice", "tools: {}\nlimits: {}\ntools: {}\n", []string{"f:3:1: tools: the key is there twice, first on line 1"}},
		{"second document", "tools: {}\n---\ntools: {}\n", []string{"f:2: a second document"}},
		{"merge", "plugins:\n  a: &a {path: x}\n  b: {<<: *a}\n", []string{"f:3:7: plugins.b: merge keys"}},
		{"tag", "tools: {a: !ruby/object b}\n", []string{"f:1:12: tools.a: the tag !ruby/object is not read"}},
		{"infinity", "plugins: {w: {path: x, settings: {a: .inf}}}\n", []string{"f:1:38: plugins.w.settings.a: no number that JSON knows"}},
		{"key that is a map", "? {a: b}\n: c\n", []string{"f:1:3: a key must be a word"}},
		{"NUL", "plugins: {w: {path: \"a\\0b\", args: [\"\\0\"], env: {K: \"\\0\"}}}\n", []string{
			"f:1:21: plugins.w.path: a NUL", "f:1:52: plugins.w.env.K: a NUL", "f:1:36: plugins.w.args[0]: a NUL",
		}},
		{"T5 alias to itself", "plugins: &a {b: *a}\n", []string{"f:1:10: "}},
		{"T5 aliases that multiply", bomb(), []string{"f:"}},
		{"too large", strings.Repeat("#", MaxSize+1), []string{"f: the file is larger than 1 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tt.text))
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error %v (%T), want an *Error", err, err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tt.want) {
				t.Errorf("%d lines, want %d:\n%s", len(lines), len(tt.want), err)
			}
			for i, want := range tt.want {
				if i < len(lines) && !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is\n%s\nwant\n%s…", i, lines[i], want)
				}
			}
		})
	}
}

// bomb has nine levels of nine aliases: 387 million values.
func bomb() string {
	var b strings.Builder
	b.WriteString("plugins:\n  w:\n    path: x\n    settings:\n      a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		before, name := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("      a" + name + ": &a" + name + " [" + strings.TrimSuffix(strings.Repeat("*a"+before+",", 9), ",") + "]\n")
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "toolhost.yaml")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	if err := os.WriteFile(path, []byte("plugins: {w: {path: p}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "p"); got.Plugins[0].Path != want {
		t.Errorf("path %s, want %s: relative to the file", got.Plugins[0].Path, want)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a directory was read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := Parse("f", text)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Faults) == 0 {
			t.Fatalf("error %v (%T), want an *Error with faults", err, err)
		}
	})
}
