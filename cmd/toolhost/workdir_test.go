//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// T51: what a trust covers, and what it does not.
func TestT51_Content(t *testing.T) {
	base := t.TempDir()
	dir, out := filepath.Join(base, "dir"), filepath.Join(base, "out")
	for _, path := range []string{"dir/run.sh", "dir/lib/a.js", "dir/lib/b.js", "dir/other", "out/x.sh", "out/y.sh"} {
		put(t, filepath.Join(base, path), "#!/bin/sh\n# "+path)
	}
	put(t, dir+"/toolhost.yaml", `plugins:
  args: {path: /bin/sh, args: [lib/a.js, "--main=lib/b.js", `+dir+`/run.sh, ../out/y.sh, nothing, -x, ""]}
  link: {path: ./link.sh}
  out: {path: `+out+`/y.sh}
  missing: {path: ./later.sh}
  back: {path: `+base+`/back/run.sh}
`)
	for link, to := range map[string]string{dir + "/link.sh": "../out/x.sh", base + "/back": "dir"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	names := func() (all []string) {
		c, err := readContent(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Files {
			all = append(all, f.Path)
		}
		return all
	}
	hash := func() string {
		c, err := readContent(dir)
		if err != nil {
			t.Fatal(err)
		}
		return c.hash()
	}
	want := []string{filepath.Join(base, "back/run.sh"), "lib/a.js", "lib/b.js", "link.sh", "run.sh", "toolhost.yaml"}
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Error(diff)
	}
	first := hash()
	for _, path := range []string{"dir/lib/a.js", "dir/lib/b.js", "dir/run.sh", "out/x.sh"} {
		was, err := os.ReadFile(filepath.Join(base, path))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(base, path), "changed")
		if hash() == first {
			t.Errorf("%s changed, and the hash did not", path)
		}
		put(t, filepath.Join(base, path), string(was))
	}
	put(t, dir+"/other", "changed")
	if hash() != first {
		t.Error("a file that nothing names changed the hash")
	}
	put(t, dir+"/later.sh", "a file that was not there")
	if hash() == first {
		t.Error("a plugin that came later did not change the hash")
	}
}

// T51: what is there instead of a file is neither waited for nor followed round.
func TestT51_ContentThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(syscall.Mkfifo(filepath.Join(dir, configName), 0o600), os.Symlink("toolplugin-loop", filepath.Join(dir, "toolplugin-loop")),
		syscall.Mkfifo(filepath.Join(dir, "toolplugin-fifo"), 0o700), os.Mkdir(filepath.Join(dir, "toolplugin-dir"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	c, err := readContent(dir)
	if err != nil || !c.empty() || len(c.Files) > 0 || len(c.Skipped) != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

// T51: a binary that takes the place of a trusted one after it was looked at is not started.
func TestT51_TheBytesThatAreTrustedAreTheOnesThatRun(t *testing.T) {
	d := newDesk(t)
	work := d.file("work")
	if err := errors.Join(os.Mkdir(work, 0o755), placeBinary(filepath.Join(work, "toolplugin-fake"))); err != nil {
		t.Fatal(err)
	}
	put(t, work+"/run.sh", "#!/bin/sh\n")
	put(t, work+"/toolhost.yaml", "plugins: {script: {path: run.sh}}\n")
	c, err := readContent(work)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{err: &terminal{}, out: &terminal{}}
	cfg, err := a.hostConfig(places{work: c})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Plugins) != 2 || len(cfg.Dirs) != 0 {
		t.Fatalf("%+v", cfg.Plugins)
	}
	for _, p := range cfg.Plugins {
		i := slices.IndexFunc(c.Files, func(f contentFile) bool { return f.Path == filepath.Base(p.Path) })
		if i < 0 || p.SHA256 != c.Files[i].SHA256 {
			t.Errorf("%s: sha256 %q, of %+v", p.Name, p.SHA256, c.Files)
		}
		if err := os.Remove(p.Path); err != nil {
			t.Fatal(err)
		}
		put(t, p.Path, "#!/bin/sh\ntouch evil.marker\n")
		if err := host.Check(p); err == nil || !strings.Contains(err.Error(), p.SHA256) {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestT51_TrustAsksOnTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		code        int
	}{
		{"yes", "y\n", exitOK}, {"no", "n\n", exitDenied}, {"Enter", "\n", exitDenied}, {"interrupt", "\x03", exitCanceled}, {"end", "\x04", exitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			put(t, d.file("clone/toolhost.yaml"), "plugins: {script: {path: \"a\\tb.sh\", args: [\"\\u202eevil\"]}}\n")
			put(t, d.file("clone/a\tb.sh"), "#!/bin/sh\n")
			p := d.sit(40, "trust", "clone")
			p.types("Trust these files as they are now? [y/N] ", tt.typed)
			p.ends(tt.code)
			screen := p.screen.String()
			if !strings.Contains(screen, `"a\tb.sh"`) || !strings.Contains(screen, "toolhost.yaml") || strings.Contains(screen, "\u202e") {
				t.Errorf("the screen: %q", screen)
			}
			stdout, _ := d.want(exitOK, "trust", "--list", "--json")
			if got := strings.Contains(stdout, `"unchanged"`); got != (tt.code == exitOK) {
				t.Errorf("trusted: %t: %s", got, stdout)
			}
		})
	}
}

// A plugin that is let out of quarantine is said what it was held for, once.
func TestTrust_LiftsAQuarantine(t *testing.T) {
	d := newDesk(t)
	d.quarantine("weather", "killed 5 times in a row\n\u202e")
	stdout, _ := d.want(exitOK, "trust", "weather")
	if want := `weather may start again; it was in quarantine since 20`; !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, `: killed 5 times in a row\n`) {
		t.Errorf("%q", stdout)
	}
	_, stderr := d.want(exitNotFound, "trust", "weather")
	if !strings.Contains(stderr, "no plugin of that name is in quarantine") {
		t.Error(stderr)
	}
	d.quarantine("weather", "again")
	if err := os.Mkdir(d.file("weather"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.want(exitUsage, "trust", "weather") // a directory of that name
}

// quarantine puts a plugin in quarantine, as a host does.
func (d *desk) quarantine(plugin, reason string) {
	d.t.Helper()
	sum := sha256.Sum256([]byte(plugin))
	path := d.file("home/.local/state/toolhost/quarantine/" + hex.EncodeToString(sum[:]))
	text, err := json.Marshal(host.Quarantine{Plugin: plugin, Reason: reason, At: time.Now()})
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		d.t.Fatal(err)
	}
}

// status shows the hosts of this user that run, and their plugins, and no more when they have ended.
func TestStatus_ShowsTheHostsThatRun(t *testing.T) {
	d := newDesk(t, "toolplugin-fake")
	busy := d.command("call", "wait")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Process.Kill() }()
	hosts := func() []host.LiveHost {
		t.Helper()
		stdout, _ := d.want(exitOK, "status", "--json")
		var report statusReport
		if err := json.Unmarshal([]byte(stdout), &report); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		return report.Hosts
	}
	await := func(what string, ok func([]host.LiveHost) bool) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // the host says it after a moment
			got := hosts()
			if ok(got) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("not %s: %+v", what, got)
			}
		}
	}
	await("shown", func(all []host.LiveHost) bool {
		return len(all) == 1 && all[0].PID == busy.Process.Pid && len(all[0].Plugins) == 1 && all[0].Plugins[0].Name == "fake" &&
			all[0].Plugins[0].State == host.Ready && all[0].Plugins[0].PID > 0
	})
	stdout, _ := d.want(exitOK, "status")
	for _, want := range []string{"HOST", "PROCESS", "fake", "ready"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s in\n%s", want, stdout)
		}
	}
	_ = busy.Process.Kill()
	_ = busy.Wait()
	await("gone", func(all []host.LiveHost) bool { return len(all) == 0 })
}
