package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// The test binary is the command and every plugin of the tests, by the name under which it is started.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"toolhost":            main,
		"toolhost-sandbox":    main,
		"toolplugin-fake":     func() { exitAtOnce(); fakePlugin() },
		"toolplugin-asking":   func() { exitAtOnce(); askingPlugin() },
		"toolplugin-veiled":   func() { exitAtOnce(); pluginsdk.Serve(veiledTool("veiled", false), veiledTool("veiledf", true)) },
		"toolplugin-hostile":  func() { exitAtOnce(); hostilePlugin() },
		"toolplugin-evil":     func() { exitAtOnce(); evilPlugin() },
		"toolplugin-mcp":      func() { exitAtOnce(); importerPlugin() },
		"toolplugin-noisy":    func() { exitAtOnce(); noisyPlugin() },
		"toolplugin-poisoned": func() { exitAtOnce(); poisonedPlugin() },
		"toolplugin-crashing": func() { fmt.Fprintln(os.Stderr, "no licence"); os.Exit(3) },
	})
}

// raceOptions keeps the race detector from sleeping at exit.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// evilPlugin leaves a marker in the working directory as soon as it runs.
func evilPlugin() {
	_ = os.WriteFile("evil.marker", nil, 0o600)
	pluginsdk.Serve(echoTool())
}

type echoIn struct {
	Text string `json:"text"`
}

func echoTool() pluginsdk.Definition {
	return pluginsdk.Tool[echoIn, json.RawMessage]{
		ID: "echo", Title: "Echo", Description: "Returns the text.",
		Execute: func(_ context.Context, _ *pluginsdk.Call, in echoIn) (json.RawMessage, error) {
			return []byte(rawString(in.Text)), nil
		},
	}
}

func fakePlugin() {
	yes := true
	pluginsdk.Serve(
		echoTool(),
		pluginsdk.Tool[echoIn, echoIn]{
			ID: "typed", Title: "Typed", Description: "Returns\nits input.",
			MCP:     pluginsdk.MCP{Annotations: &pluginsdk.Annotations{ReadOnly: &yes}},
			Execute: func(_ context.Context, _ *pluginsdk.Call, in echoIn) (echoIn, error) { return in, nil },
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "verbatim", Description: "Returns JSON with its own spelling.",
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) {
				return []byte("{ \"b\" : 1.50e+1,\r\n\"a\":\"\u202e\x7f\" }"), nil
			},
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "fail", Description: "Fails.",
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) {
				return nil, &pluginsdk.Error{Message: "out of paper", Data: []byte(`{"tray":2}`)}
			},
		},
		pluginsdk.Tool[struct{}, echoIn]{
			ID: "lies", Description: "Breaks its output schema.", OutputSchema: []byte(`{"type":"object","required":["missing"]}`),
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (echoIn, error) { return echoIn{"real"}, nil },
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "crash", Description: "Ends the process.",
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) { os.Exit(7); return nil, nil },
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "wait", Description: "Says that it runs, and waits until it is cancelled.",
			Execute: func(ctx context.Context, call *pluginsdk.Call, _ struct{}) (json.RawMessage, error) {
				call.Progress(1, 4, "waiting")
				<-ctx.Done()
				return nil, ctx.Err()
			},
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "stubborn", Description: "Does not hear that it is cancelled.",
			Execute: func(_ context.Context, call *pluginsdk.Call, _ struct{}) (json.RawMessage, error) {
				call.Progress(0, 0, "busy")
				select {}
			},
		},
		pluginsdk.Tool[echoIn, json.RawMessage]{
			ID: "deltas", Description: "Logs and reports every delta.",
			OnInputDelta: func(ctx context.Context, call *pluginsdk.Call, delta string) error {
				call.Logger().Info("saw <" + delta + ">")
				return call.Write(ctx, map[string]string{"delta": delta})
			},
			Execute: func(context.Context, *pluginsdk.Call, echoIn) (json.RawMessage, error) { return []byte("true"), nil },
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "context", Description: "Returns its request context.",
			RequestContextSchema: []byte(`{"type":"object","properties":{"user":{"type":"string"}}}`),
			Execute: func(_ context.Context, call *pluginsdk.Call, _ struct{}) (json.RawMessage, error) {
				var v json.RawMessage
				return v, errors.Join(call.RequestContext(&v), check(v))
			},
		},
	)
}

func check(v json.RawMessage) error {
	if string(v) != `{"user":"ada"}` {
		return fmt.Errorf("context %s", v)
	}
	return nil
}

// hostilePlugin says nothing but what must not reach a terminal (T10). Its tool shout is refused for that.
func hostilePlugin() {
	all := hostileText()
	fmt.Fprintln(os.Stderr, strings.Join(hostileTexts(), " "))
	pluginsdk.Serve(
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "speak", Description: wideText,
			Execute: func(ctx context.Context, call *pluginsdk.Call, _ struct{}) (json.RawMessage, error) {
				call.Logger().Error(all, "all", all)
				for i, text := range hostileTexts() {
					call.Progress(float64(i), 1000, strings.ToValidUTF8(text, "?"))
				}
				return []byte(rawString(all)), nil
			},
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "fail", Description: "Fails.",
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) { return nil, errors.New(all) },
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "shout", Title: all[:100], Description: all,
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) { return nil, nil },
		},
	)
}

// hostileText is all of the corpus, in UTF-8.
func hostileText() string { return strings.ToValidUTF8(strings.Join(hostileTexts(), " "), "?") }

// wideText breaks a table that counts bytes or characters (T11).
var wideText = strings.Repeat("東京 ", 20) + "z" + strings.Repeat("\u0301", 40) + strings.Repeat(" 👩‍👩‍👧", 20)

func TestScripts(t *testing.T) {
	p := scriptParams()
	p.Dir = "testdata/script"
	testscript.Run(t, p)
}

// In stdio mode every line of stdout is JSON-RPC, whatever plugins print; what else the process prints goes to stderr.
func TestR25_StdoutIsJSONRPCOnly(t *testing.T) {
	p := scriptParams()
	p.Files = []string{"testdata/script/mcp.txtar"}
	testscript.Run(t, p)
}

func scriptParams() testscript.Params {
	return testscript.Params{
		Setup: setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"plugin":   scriptPlugin,
			"converse": scriptConverse,
			"serve":    scriptServe,
			"stop":     scriptStop,
			"post":     scriptPost,
			"json":     scriptJSON,
			"code":     scriptCode,
			"mode":     scriptMode,
			"id":       scriptID,
		},
	}
}

func setupScript(env *testscript.Env) error {
	for _, name := range []string{"home", "run"} {
		if err := os.Mkdir(filepath.Join(env.WorkDir, name), 0o700); err != nil {
			return err
		}
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_RUNTIME_DIR", filepath.Join(env.WorkDir, "run"))
	// For what toolhost new writes: the caches of this build, and no network.
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	caches := strings.Fields(string(out))
	if len(caches) == 2 {
		env.Setenv("GOCACHE", caches[0])
		env.Setenv("GOMODCACHE", caches[1])
	}
	env.Setenv("GOPROXY", "off")
	env.Vars = append(env.Vars, raceOptions)
	return nil
}

// plugin [-copy] FILE...: puts the test binary to FILE.
func scriptPlugin(ts *testscript.TestScript, neg bool, args []string) {
	place := placeBinary
	if len(args) > 0 && args[0] == "-copy" {
		place, args = copyBinary, args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: plugin [-copy] FILE...")
	}
	for _, path := range args {
		path = ts.MkAbs(path)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(place(path))
	}
}

// copyBinary makes a file of its own. The times of a link change with every other link that is made or removed, and then
// the host must look at the file again.
func copyBinary(path string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o700)
}

// code WANT COMMAND...: runs toolhost and compares the exit code; its output is in stdout and stderr.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: code WANT [TOOLHOST-ARGUMENT...]")
	}
	err := ts.Exec("toolhost", args[1:]...)
	got := "0"
	if exit, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		got = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		got = err.Error()
	}
	if got != args[0] {
		ts.Fatalf("toolhost %s: exit code %s, want %s\nstdout: %s\nstderr: %s",
			strings.Join(args[1:], " "), got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// json FILE PATH WANT: compares one member, such as error.code or 0.name, of a JSON file (or stdout, stderr).
// WANT * means that it is there.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH WANT")
	}
	var v any
	text := ts.ReadFile(args[0])
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		ts.Fatalf("%s is no JSON: %v\n%s", args[0], err, text)
	}
	found := true
	for _, key := range strings.Split(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v, found = at[key]
		case []any:
			var i int
			_, err := fmt.Sscan(key, &i)
			if found = err == nil && i < len(at); found {
				v = at[i]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	got := "nothing"
	if found {
		got = fmt.Sprint(v)
	}
	if same := found && (args[2] == "*" || got == args[2]); same == neg {
		ts.Fatalf("%s: %s is %s, want %s\n%s", args[0], args[1], got, args[2], text)
	}
}

// mode WANT FILE: compares the permissions of a file, in octal digits.
func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode WANT FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%#o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// id FILE: sets $ID to the id of the suspension in a file, or of the first of a list.
func scriptID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: id FILE")
	}
	text := []byte(ts.ReadFile(args[0]))
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil && len(list) > 0 {
		text = list[0]
	}
	var s host.Suspension
	ts.Check(json.Unmarshal(text, &s))
	ts.Setenv("ID", s.ID)
}

// placeBinary puts the test binary to path: a link if the file system allows, else a copy.
func placeBinary(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return err
	}
	if os.Link(self, path) == nil {
		return nil
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
