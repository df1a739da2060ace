//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// desk is one user's command line: a state directory, plugins and a file in which the tools leave their traces.
type desk struct {
	t     *testing.T
	dir   string
	trace string
	env   []string

	renamed int
}

func newDesk(t *testing.T, plugins ...string) *desk {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, trace: filepath.Join(dir, "trace")}
	d.env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TOOLHOST_STATE=",
		"TOOLHOST_PLUGINS="+pluginsDir(t, plugins...), raceOptions)
	return d
}

func (d *desk) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.CommandContext(d.t.Context(), self)
	cmd.Args, cmd.Env, cmd.Dir = append([]string{"toolhost"}, args...), d.env, d.dir
	return cmd
}

// run runs the command without a terminal.
func (d *desk) run(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	cmd := d.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code says it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// want is run with an exit code.
func (d *desk) want(code int, args ...string) (stdout, stderr string) {
	d.t.Helper()
	stdout, stderr, got := d.run(args...)
	if got != code {
		d.t.Fatalf("%q: exit code %d, want %d; stdout %s stderr %s", args, got, code, stdout, lastPart(stderr))
	}
	return stdout, stderr
}

// input is the input of a tool that leaves a trace.
func (d *desk) input(line string) string {
	return fmt.Sprintf(`{"file":%s,"line":%s}`, rawString(d.trace), rawString(line))
}

func (d *desk) traces() string {
	text, err := os.ReadFile(d.trace)
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d *desk) file(name string) string { return filepath.Join(d.dir, name) }

// One byte of each value of the file is changed, and of the sealed part also the first and the last: never does the tool run.
func TestT24_AChangedByteOfAnyFieldIsRefused(t *testing.T) {
	for _, tool := range []string{"publish", "book"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "toolplugin-asking")
			d.want(exitSuspended, "call", tool, d.input("long"), "--save", "s.json")
			before := d.traces()
			text, err := os.ReadFile(d.file("s.json"))
			if err != nil {
				t.Fatal(err)
			}
			answer := "--approve"
			if tool == "book" {
				answer = `--data={"seat":"12A"}`
			}
			spans := valueSpans(t, text)
			if len(spans) < 9 {
				t.Fatalf("%d fields", len(spans))
			}
			for name, span := range spans {
				places := []int{(span[0] + span[1]) / 2}
				if name == "sealed" {
					places = append(places, span[0], span[1]-1, bytes.LastIndexAny(text[:span[1]], base64)) // the last may be =
				}
				for i, at := range places {
					changed := bytes.Clone(text)
					if changed[at]++; changed[at] == '\\' || changed[at] == '"' {
						changed[at]++
					}
					path := d.file(fmt.Sprintf("%s-%d.json", name, i))
					if err := os.WriteFile(path, changed, 0o600); err != nil {
						t.Fatal(err)
					}
					_, stderr := d.want(exitInput, "resume", path, answer, "--json")
					var e struct{ Error struct{ Code string } }
					if err := json.Unmarshal([]byte(stderr), &e); err != nil || e.Error.Code != "invalid_resume" {
						t.Errorf("%s: %v %s", name, err, stderr)
					}
				}
			}
			if got := d.traces(); got != before {
				t.Errorf("it ran: %q, before %q", got, before)
			}
			d.want(exitOK, "resume", "s.json", answer)
		})
	}
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// valueSpans finds the values of an object's members in its text, without the quotes of strings.
func valueSpans(t *testing.T, text []byte) map[string][2]int {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	spans := map[string][2]int{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		end := int(dec.InputOffset())
		spans[fmt.Sprint(name)] = [2]int{end - len(v) + 1, end - 1}
	}
	return spans
}

// The spare bits of base64 and other spellings of one value are changed bytes, too.
func TestT24_AnotherSpellingIsRefused(t *testing.T) {
	d := newDesk(t, "toolplugin-asking")
	stdout, _ := d.want(exitSuspended, "call", "publish", d.input("x"))
	for name, text := range map[string]string{
		"case of a name":  strings.Replace(stdout, `"callId"`, `"callID"`, 1),
		"a second member": strings.Replace(stdout, `"kind"`, `"kind": "data", "kind"`, 1),
		"unknown member":  strings.Replace(stdout, `"kind"`, `"approved": true, "kind"`, 1),
		"second value":    stdout + stdout,
		"no value":        "",
		"another value":   `["x"]`,
	} {
		if err := os.WriteFile(d.file("x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := d.run("resume", "x.json", "--approve"); code != exitInput {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, exitInput, stderr)
		}
	}
	if got := d.traces(); got != "" {
		t.Errorf("it ran: %q", got)
	}
	blanks := strings.ReplaceAll(stdout, "\n", "\r\n\t")
	if err := os.WriteFile(d.file("y.json"), []byte(blanks), 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(exitOK, "resume", "y.json", "--approve")
}

func TestT26_TwoProcessesThatApproveAtOnceRunItOnce(t *testing.T) {
	d := newDesk(t, "toolplugin-asking")
	for round := range 5 {
		name := fmt.Sprintf("%d.json", round)
		d.want(exitSuspended, "call", "publish", d.input("x"), "--save", name)
		var wait sync.WaitGroup
		var codes [2]int
		for i := range codes {
			wait.Go(func() { _, _, codes[i] = d.run("resume", name, "--approve") })
		}
		wait.Wait()
		if codes != [2]int{exitOK, exitInput} && codes != [2]int{exitInput, exitOK} {
			t.Errorf("exit codes %v, want one 0 and one %d", codes, exitInput)
		}
		if n := strings.Count(d.traces(), "\n"); n != round+1 {
			t.Errorf("it ran %d times after %d approvals", n, round+1)
		}
	}
}

// The host and the plugin that suspended are gone: another process of each goes on.
func TestResumeAfterThePluginWasKilled(t *testing.T) {
	d := newDesk(t, "toolplugin-asking")
	d.want(exitSuspended, "call", "book", d.input(""), "--save", "s.json")
	first := strings.Fields(d.traces())
	d.want(exitInput, "resume", "s.json", "--data", `{"seat":"none"}`)
	stdout, _ := d.want(exitOK, "resume", "s.json", "--data", `{"seat":"14F"}`)
	if stdout != `["14F"]`+"\n" {
		t.Errorf("stdout %q", stdout)
	}
	lines := strings.Split(strings.TrimSpace(d.traces()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[1], " 14F") {
		t.Fatalf("traces %q", lines)
	}
	if same := strings.Fields(lines[1]); same[0] == first[0] {
		t.Errorf("both rounds ran in the process of %s", same[0])
	}
}

// A planted secret is nowhere but where its owner asked for it: the tool, and raw output (T31).
func TestT31_APlantedSecretIsNowhere(t *testing.T) {
	const secret = "hunter2-PLANTED-SECRET"
	for _, line := range []string{"", "fail", "long", "suspend", "crash"} {
		t.Run("line "+line, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "toolplugin-asking")
			for i, token := range []string{secret, "quo\"te\\" + secret + "\u2028é"} {
				input, err := json.Marshal(fileIn{File: d.trace, Line: line, Token: token})
				if err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{{"--json", "--events", "--approve"}, {"--save", "s.json"}, {"--approve"}, {"--deny", "no"}}[:4-2*i] {
					if args[0] == "--approve" && line == "" {
						continue // its output is the caller's own
					}
					d.hides("PLANTED", append([]string{"call", "leaky", string(input)}, args...)...)
				}
				d.hides("PLANTED", "resume", "s.json", "--approve", "--save", "next.json", "--events")
				d.rename("s.json")
				d.rename("next.json")
			}
			d.hides("PLANTED", "pending", "--json")
			d.hides("PLANTED", "pending")
			d.holdsNo("PLANTED")
		})
	}
	d := newDesk(t, "toolplugin-asking")
	for _, broken := range []string{
		`{"token":"PLANTED"}`, `{"file":1,"token":"PLANTED"}`, `{"file":"x","token":["PLANTED"]}`, `{"file":"x","token":"PLANTED`,
	} {
		if code := d.hides("PLANTED", "call", "leaky", broken, "--json", "--events"); code != exitInput {
			t.Errorf("%s: exit code %d, want %d", broken, code, exitInput)
		}
	}
	out, _ := d.want(exitOK, "call", "leaky", `{"file":"x","token":"`+secret+`"}`, "--approve")
	if !strings.Contains(out, secret) {
		t.Errorf("the caller's own output is %q: the test would not see a leak", out)
	}
}

// hides runs the command with all its logs and looks for text in what it writes.
func (d *desk) hides(text string, args ...string) (code int) {
	d.t.Helper()
	stdout, stderr, code := d.run(append([]string{"--log-level", "debug"}, args...)...)
	if code == exitUsage || code == exitInternal || code == exitUnavailable && !strings.Contains(stderr, "SIGKILL") {
		d.t.Errorf("%q: exit code %d: %s", args, code, stderr)
	}
	if strings.Contains(stdout, text) || strings.Contains(stderr, text) {
		d.t.Errorf("%q shows it: stdout %s stderr %s", args, stdout, lastPart(stderr))
	}
	return code
}

// rename makes room for another file of the name, and keeps the one that is there.
func (d *desk) rename(name string) {
	d.renamed++
	err := os.Rename(d.file(name), d.file(fmt.Sprintf("%d-%s", d.renamed, name)))
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
}

// holdsNo looks for text in every file below the desk but the private copies of programs: they are this test.
func (d *desk) holdsNo(text string) {
	files := 0
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() && e.Name() == "binaries" {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		files++
		found, err := os.ReadFile(path)
		if bytes.Contains(found, []byte(text)) {
			d.t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil || files == 0 {
		d.t.Errorf("%d files: %v", files, err)
	}
}
