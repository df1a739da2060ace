//go:build unix

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// versionMark is followed, at the end of a plugin's binary, by its version and what is wrong with it.
const versionMark = "\nthe test's version: "

// serveVersion is a plugin that says which version its own bytes are, and does what they say.
func serveVersion() {
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	version := string(text[bytes.LastIndex(text, []byte(versionMark))+len(versionMark):])
	number, evil, _ := strings.Cut(version, " ")
	switch evil {
	case "exits":
		fmt.Fprintln(os.Stderr, "version "+number+" is broken")
		os.Exit(3)
	case "hangs":
		for { // select {} would be a deadlock to a runtime without cgo, and end the process
			time.Sleep(time.Hour)
		}
	}
	if marks := os.Getenv("TEST_STARTS"); marks != "" {
		f, err := os.OpenFile(marks, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, number)
		f.Close()
	}
	tools := []pluginsdk.Definition{
		tool("version", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return number, nil }),
		tool("hold", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			c.Progress(0, 0, "held")
			<-ctx.Done()
			return "", ctx.Err()
		}),
	}
	switch evil {
	case "dies":
		go func() {
			time.Sleep(20 * time.Millisecond)
			os.Exit(4)
		}()
	case "grows":
		tools = append(tools, tool("more", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "more", nil }))
	case "lies":
		if _, err := os.Stat(os.Getenv("TEST_LIE")); err == nil {
			tools = append(tools, tool("hidden", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "", nil }))
		}
	}
	pluginsdk.Serve(tools...)
}

// install puts a version of the plugin at path, as an installer should: a new file, renamed into place.
func install(t testing.TB, path, version string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", append(text, versionMark+version...), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// versioned is a plugin with a binary of its own, and where it is.
func versioned(t testing.TB, version string) (host.Plugin, string) {
	t.Helper()
	p := self("test", "version")
	p.Path = filepath.Join(t.TempDir(), "toolplugin-test")
	install(t, p.Path, version)
	return p, p.Path
}

func version(t testing.TB, h *host.Host) string {
	t.Helper()
	var v string
	if err := json.Unmarshal(call(t, h, "version", `{}`).Output, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func reload(t testing.TB, h *host.Host) {
	t.Helper()
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestD8_K12_ReplacedUnderLoadFailsNoCall(t *testing.T) {
	p, path := versioned(t, "0")
	h := open(t, host.Config{StateDir: t.TempDir()}, p)
	var calls, most atomic.Int64
	stop := make(chan struct{})
	var load, watching sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := h.Call(t.Context(), host.Call{Tool: "version"}); err != nil {
					t.Errorf("a call failed: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	watching.Go(func() { // watches how many versions there are
		for e := range h.Watch(t.Context()) {
			s := status(t, h)
			n := int64(len(s.Draining))
			if s.PID != 0 {
				n++
			}
			most.Store(max(most.Load(), n))
			if e.State == host.Stopped {
				return
			}
		}
	})
	const replaced = 5
	for i := 1; i <= replaced; i++ {
		install(t, path, fmt.Sprint(i))
		reload(t, h)
		if got := version(t, h); got != fmt.Sprint(i) {
			t.Errorf("version %s answers, not %d", got, i)
		}
	}
	close(stop)
	load.Wait()
	eventually(t, "one version is left", func() bool { return len(status(t, h).Draining) == 0 })
	h.Close()
	watching.Wait()
	if calls.Load() == 0 || most.Load() > 2 {
		t.Errorf("%d calls, at most %d versions at once", calls.Load(), most.Load())
	}
}

func TestK12_AThirdVersionWaitsForTheFirst(t *testing.T) {
	p, path := versioned(t, "1")
	p.Limits.Drain = 2 * soon
	h := open(t, host.Config{StateDir: t.TempDir()}, p)
	held := h.Start(t.Context(), host.Call{Tool: "hold", Input: []byte(`{}`)})
	var over sync.WaitGroup
	defer over.Wait()
	defer held.Cancel(nil)
	begun := make(chan struct{})
	over.Go(func() {
		for e := range held.Events() {
			if _, ok := e.(host.Progress); ok {
				close(begun)
			}
		}
	})
	<-begun
	install(t, path, "2")
	reload(t, h)
	if s := status(t, h); len(s.Draining) != 1 || version(t, h) != "2" {
		t.Fatalf("%+v", s)
	}
	install(t, path, "3")
	done := make(chan error, 1)
	go func() { done <- h.Reload(t.Context()) }() // ends below
	eventually(t, "the third version is shown waiting", func() bool { return strings.Contains(status(t, h).Waiting, "waits for process") })
	if v := version(t, h); v != "2" {
		t.Errorf("version %s answers meanwhile", v)
	}
	held.Cancel(nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := status(t, h); version(t, h) != "3" || s.Waiting != "" || s.Previous == "" {
		t.Errorf("%+v", s)
	}
}

func TestD8_ABrokenVersionChangesNothing(t *testing.T) {
	for evil, words := range map[string]string{"exits": "version 2 is broken", "hangs": "not ready"} {
		t.Run(evil, func(t *testing.T) {
			t.Parallel()
			p, path := versioned(t, "1")
			p.Limits.Start = 5 * time.Second
			h := open(t, host.Config{StateDir: t.TempDir()}, p)
			pid := string(call(t, h, "version", `{}`).Output) + fmt.Sprint(status(t, h).PID)
			install(t, path, "2 "+evil)
			err := h.Reload(t.Context())
			if e, ok := errors.AsType[*host.Error](err); !ok || e.Code != host.Unavailable || !strings.Contains(err.Error(), words) {
				t.Fatalf("reload: %v", err)
			}
			if got := string(call(t, h, "version", `{}`).Output) + fmt.Sprint(status(t, h).PID); got != pid {
				t.Errorf("%s answers, not %s", got, pid)
			}
			if s := status(t, h); s.State != host.Ready || !strings.Contains(s.Error, "is not taken") {
				t.Errorf("%+v", s)
			}
			reload(t, h) // the same file is not tried again
			install(t, path, "3")
			reload(t, h)
			if s := status(t, h); version(t, h) != "3" || s.Error != "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A version that does not start is found at the next start too, and one that starts and dies after some deaths.
func TestD8_RolledBackWithoutReload(t *testing.T) {
	for _, evil := range []string{"exits", "dies"} {
		t.Run(evil, func(t *testing.T) {
			p, path := versioned(t, "1")
			p.Limits = host.Limits{BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond, Circuit: 2, Idle: 50 * time.Millisecond}
			h := open(t, host.Config{StateDir: t.TempDir()}, p)
			version(t, h)
			eventually(t, "the plugin rests", func() bool { return status(t, h).State == host.Idle })
			install(t, path, "2 "+evil)
			if evil == "dies" { // it is known only by its deaths: a call that it completes clears it
				eventually(t, "it died too often", func() bool {
					short, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_, _ = h.Call(short, host.Call{Tool: "hold"})
					return status(t, h).Previous == "" && status(t, h).Error != ""
				})
			}
			if got := version(t, h); got != "1" {
				t.Errorf("version %s answers", got)
			}
			if s := status(t, h); !strings.Contains(s.Error, "is not taken") {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestReload_AddsAndRemovesPlugins(t *testing.T) {
	dir := t.TempDir()
	build := func(name string) { // a binary whose build information names our SDK
		install(t, filepath.Join(dir, "toolplugin-"+name), name)
	}
	t.Setenv("TEST_PLUGIN", "version") // does not pass to plugins
	h, err := host.Open(t.Context(), host.Config{Dirs: []string{dir}, StateDir: t.TempDir(), Watch: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	names := func() (all []string) {
		for s := range h.Plugins() {
			all = append(all, s.Name)
		}
		return all
	}
	if got := names(); got != nil {
		t.Fatalf("plugins %v", got)
	}
	build("a")
	build("b")
	eventually(t, "both are there", func() bool { return slices.Equal(names(), []string{"a", "b"}) })
	os.Remove(filepath.Join(dir, "toolplugin-a"))
	eventually(t, "one is there", func() bool { return slices.Equal(names(), []string{"b"}) })
}

func TestD7_AnIdlePluginIsStoppedAndStartedAgain(t *testing.T) {
	p, _ := versioned(t, "1")
	p.Limits.Idle = 20 * time.Millisecond
	h := open(t, host.Config{StateDir: t.TempDir()}, p)
	version(t, h)
	eventually(t, "it is idle and no process is left", func() bool {
		s := status(t, h)
		return s.State == host.Idle && s.PID == 0 && len(s.Draining) == 0
	})
	version(t, h)
	if s := status(t, h); s.Restarts != 1 || s.Error != "" {
		t.Errorf("%+v", s)
	}
}

func TestD7_AKnownPluginIsListedWithoutAStart(t *testing.T) {
	p, path := versioned(t, "1")
	marks := filepath.Join(t.TempDir(), "starts")
	p.Env = append(p.Env, "TEST_STARTS="+marks)
	starts := func() int {
		text, _ := os.ReadFile(marks)
		return bytes.Count(text, []byte("\n"))
	}
	cfg := host.Config{StateDir: t.TempDir()}
	list := func() (ids []string, s host.PluginStatus) {
		h := open(t, cfg, p)
		defer h.Close()
		for tool := range h.Tools() {
			ids = append(ids, tool.ID)
		}
		return ids, status(t, h)
	}
	if ids, _ := list(); !slices.Equal(ids, []string{"hold", "version"}) || starts() != 1 {
		t.Fatalf("%v after %d starts", ids, starts())
	}
	if ids, s := list(); !slices.Equal(ids, []string{"hold", "version"}) || starts() != 1 || s.State != host.Described || s.Known.IsZero() {
		t.Fatalf("%v after %d starts: %+v", ids, starts(), s)
	}
	h := open(t, cfg, p)
	if version(t, h) != "1" || starts() != 2 {
		t.Errorf("%d starts", starts())
	}
	h.Close()
	install(t, path, "2 grows")
	if ids, _ := list(); !slices.Contains(ids, "more") {
		t.Errorf("the new version's tools: %v", ids)
	}
	p.Settings = []byte(`{}`) // other conditions
	before := starts()
	if list(); starts() != before+1 {
		t.Errorf("%d starts with other settings, %d before", starts(), before)
	}
}

func TestD6_AStaticPluginThatRegistersOtherwiseIsQuarantined(t *testing.T) {
	p, path := versioned(t, "1 lies")
	lie := filepath.Join(t.TempDir(), "lie")
	p.Env = append(p.Env, "TEST_LIE="+lie)
	cfg := host.Config{StateDir: t.TempDir()}
	h := open(t, cfg, p)
	version(t, h)
	h.Close()
	if err := os.WriteFile(lie, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second host knows it from the first
		h = open(t, cfg, p)
		e := fails(t, h, "test/version", `{}`, host.Unavailable, host.NotStarted)
		if s := status(t, h); s.State != host.Quarantined || !strings.Contains(e.Error(), "registers other tools") {
			t.Fatalf("%v; %+v", e, s)
		}
		h.Close()
	}
	h = open(t, cfg, p)
	if err := h.Trust("test"); err != nil {
		t.Fatal(err)
	}
	version(t, h)
	h.Close()
	if err := os.Remove(lie); err != nil {
		t.Fatal(err)
	}
	h = open(t, cfg, p)
	fails(t, h, "test/version", `{}`, host.Unavailable, host.NotStarted)
	install(t, path, "2") // new bytes
	if got := version(t, h); got != "2" {
		t.Errorf("version %s", got)
	}
}

func TestS7_L8_TheBytesThatRunAreTheBytesThatWereHashed(t *testing.T) {
	p, path := versioned(t, "1")
	h := open(t, host.Config{StateDir: t.TempDir()}, p)
	version(t, h)
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", status(t, h).PID))
	if err != nil || !strings.Contains(exe, status(t, h).Program) {
		t.Errorf("%s runs (%v), not a copy of %s", exe, err, status(t, h).Program)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", status(t, h).PID))
	if err != nil || !bytes.HasPrefix(line, []byte(path+"\x00")) {
		t.Errorf("ps shows %q (%v)", line, err)
	}
	if err := os.WriteFile(path, []byte("overwritten in place"), 0o700); err != nil { // not busy: it is not what runs
		t.Fatal(err)
	}
	if got := version(t, h); got != "1" {
		t.Errorf("version %s", got)
	}
}

func TestS8_TheLockRefusesOtherBytes(t *testing.T) {
	p, path := versioned(t, "1")
	dir := t.TempDir()
	h := open(t, host.Config{StateDir: dir}, p)
	version(t, h)
	sum := status(t, h).Program
	h.Close()
	for name, c := range map[string]struct {
		lock  map[string]string
		words []string
	}{
		"not named": {map[string]string{}, []string{"is not in the lock file", "toolhost lock", sum}},
		"other":     {map[string]string{"test": strings.Repeat("0", 64)}, []string{path, strings.Repeat("0", 64), sum, "toolhost lock"}},
	} {
		h := open(t, host.Config{StateDir: dir, Lock: c.lock}, p)
		e := fails(t, h, "test/version", `{}`, host.Unavailable, host.NotStarted)
		for _, w := range c.words {
			if !strings.Contains(e.Error(), w) {
				t.Errorf("%s: %q is not in: %v", name, w, e)
			}
		}
		h.Close()
	}
	h = open(t, host.Config{StateDir: dir, Lock: map[string]string{"test": strings.ToUpper(sum)}}, p)
	version(t, h)
}

func TestWatch_TellsADeathAtOnce(t *testing.T) {
	h := open(t, host.Config{StateDir: t.TempDir()})
	call(t, h, "pid", `{}`)
	died := make(chan host.PluginEvent, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	ready := make(chan struct{})
	watching.Go(func() {
		for e := range h.Watch(t.Context()) {
			if e.State == host.Ready {
				close(ready)
			}
			if e.State == host.Crashed {
				died <- e
				return
			}
		}
	})
	<-ready
	pid := status(t, h).PID
	go h.Call(t.Context(), host.Call{Tool: "exit", Input: []byte(`{"n":7}`)}) // ends with the process
	e := <-died
	x, ok := errors.AsType[*host.ExitError](e.Err)
	if !ok || x.Status != 7 || e.PID != pid || e.Plugin != "test" || len(e.Program) != 64 {
		t.Errorf("%+v, %+v", e, x)
	}
}
