//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// sandboxTools are those of a plugin that tries what its sandbox may not let it do.
func sandboxTools() []pluginsdk.Definition {
	var keep [][]byte
	return []pluginsdk.Definition{
		tool("environment", func(context.Context, *pluginsdk.Call, struct{}) ([]string, error) { return os.Environ(), nil }),
		tool("read", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (string, error) {
			data, err := os.ReadFile(in.Text)
			return string(data), err
		}),
		tool("dial", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (string, error) {
			conn, err := net.DialTimeout("tcp", in.Text, 5*time.Second)
			if err == nil {
				conn.Close()
			}
			return "connected", err
		}),
		tool("spin", func(context.Context, *pluginsdk.Call, struct{}) (string, error) {
			for n := uint64(1); n != 0; n += 2 { // odd for ever
			}
			return "", nil
		}),
		tool("hog", func(context.Context, *pluginsdk.Call, struct{}) (string, error) {
			for range 1000 {
				b := make([]byte, 16<<20)
				for i := 0; i < len(b); i += 4096 {
					b[i] = 1
				}
				keep = append(keep, b)
			}
			return "kept 16 GB", nil
		}),
	}
}

// confined is the plugin in a sandbox.
func confined(s host.Sandbox) host.Plugin {
	p := self("confined", "sandbox")
	p.Sandbox = s
	return p
}

// ownHelper makes the test binary the helper.
func ownHelper(t *testing.T) host.Config {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there are no sandboxes on this system")
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Config{SandboxHelper: own, StateDir: t.TempDir()}
}

// underRace reports whether this test binary has the race detector, whose shadow memory counts as data.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// memory is a limit that the race detector does not exceed, or the profile's.
func memory() int64 {
	if underRace() {
		return 1 << 46
	}
	return 0
}

// refusedFor skips the test if this machine does not give a sandbox.
func refusedFor(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*host.ExitError](err); ok && e.Cause == "sandbox" {
		t.Skip("not on this machine: ", err)
	}
}

func TestS1_T42_StrictPluginSeesNothingOfTheHosts(t *testing.T) {
	t.Setenv("LANG", "C")
	t.Setenv("HTTPS_PROXY", "http://proxy.invalid")
	t.Setenv("SECRET_OF_THE_HOST", "s")
	dir := t.TempDir()
	for _, name := range []string{"secret", "shown/file"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("content"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := open(t, ownHelper(t), confined(host.Sandbox{Profile: host.ProfileStrict, Memory: memory(), Read: []string{dir + "/shown"}}))
	res, err := h.Call(t.Context(), host.Call{Tool: "environment"})
	if err != nil {
		refusedFor(t, err)
		t.Fatal(err)
	}
	var env []string
	if err := json.Unmarshal(res.Output, &env); err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		of[name] = value
	}
	for _, name := range []string{"LANG", "HTTPS_PROXY", "SECRET_OF_THE_HOST"} {
		if _, ok := of[name]; ok {
			t.Errorf("%s passed", name)
		}
	}
	if of["HOME"] != "/tmp" || of["TMPDIR"] != "/tmp" || of["PATH"] == os.Getenv("PATH") || of["GOMEMLIMIT"] == "" {
		t.Errorf("%v", of)
	}
	if got := string(call(t, h, "read", `{"text":"`+dir+`/shown/file"}`).Output); got != `"content"` {
		t.Errorf("a file of its list: %s", got)
	}
	fails(t, h, "read", `{"text":"`+dir+`/secret"}`, host.ToolFailed, host.Failed)
	fails(t, h, "dial", `{"text":"`+l.Addr().String()+`"}`, host.ToolFailed, host.Failed)
	if u := status(t, h).Uncovered; len(u) > 0 {
		t.Errorf("uncovered: %q", u)
	}

	free := open(t, host.Config{}, confined(host.Sandbox{Profile: host.ProfileNone})) // so that the above says something
	call(t, free, "read", `{"text":"`+dir+`/secret"}`)
	call(t, free, "dial", `{"text":"`+l.Addr().String()+`"}`)
}

func TestT42_StateDirectoryIsHidden(t *testing.T) {
	for profile, seen := range map[host.Profile]bool{host.ProfileNone: true, host.ProfileDefault: false, host.ProfileStrict: false} {
		cfg := ownHelper(t)
		key := filepath.Join(cfg.StateDir, "key")
		if err := os.WriteFile(key, []byte("k"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := host.Sandbox{Profile: profile, Memory: memory()}
		if profile != host.ProfileStrict {
			s.Memory = 0
		}
		h := open(t, cfg, confined(s))
		_, err := h.Call(t.Context(), host.Call{Tool: "read", Input: []byte(`{"text":"` + key + `"}`)})
		if err != nil {
			refusedFor(t, err)
		}
		if u := status(t, h).Uncovered; len(u) > 0 {
			t.Skipf("%s: uncovered: %q", profile, u)
		}
		if (err == nil) != seen {
			t.Errorf("%s: %v", profile, err)
		}
	}
}

func TestS12_BreachIsNamedInTheError(t *testing.T) {
	tests := []struct {
		tool, cause, limit string
		set                host.Sandbox
	}{
		{"spin", "cpu_time", "CPU time of 1s", host.Sandbox{CPU: time.Second}},
		{"hog", "memory", "memory limit of 300 MiB", host.Sandbox{Memory: 300 << 20}},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			if tt.set.Memory > 0 && underRace() {
				t.Skip("the race detector takes more memory than the limit; launch has this test with a plugin without it")
			}
			h := open(t, ownHelper(t), confined(tt.set))
			e := fails(t, h, tt.tool, `{}`, host.Unavailable, host.Unknown)
			x, ok := errors.AsType[*host.ExitError](e)
			if !ok || x.Cause != tt.cause || x.Limit != tt.limit || !strings.Contains(e.Error(), "plugin confined exceeded its "+tt.limit+" and ") {
				t.Errorf("%+v: %v", x, e)
			}
			call(t, h, "environment", `{}`) // and it is started again
		})
	}
}

func TestSandbox_WithoutTheHelper(t *testing.T) {
	cfg := ownHelper(t)
	cfg.SandboxHelper = ""
	h := open(t, cfg, confined(host.Sandbox{Profile: host.ProfileStrict}))
	e := fails(t, h, "confined/environment", `{}`, host.Unavailable, host.NotStarted)
	if !strings.Contains(e.Error(), "put toolhost-sandbox beside the program that starts plugins") || !strings.Contains(e.Error(), "bestEffort: true") {
		t.Error(e)
	}
	h = open(t, cfg, confined(host.Sandbox{Profile: host.ProfileStrict, BestEffort: true}))
	call(t, h, "environment", `{}`)
	if u := status(t, h).Uncovered; len(u) < 10 {
		t.Errorf("uncovered: %q", u)
	}
}

func TestSandbox_WhatCannotWorkAnywhere(t *testing.T) {
	mask := 0o7777
	for want, s := range map[string]host.Sandbox{
		"unknown profile":          {Profile: "paper"},
		"unknown network":          {Network: "some"},
		"below zero":               {Tasks: -1},
		"not within 0 and 0777":    {Umask: &mask},
		`"rel": it must be`:        {Read: []string{"rel"}},
		`"/": it must be`:          {Write: []string{"/"}},
		"is no name of a variable": {Env: []string{"A=B"}},
	} {
		_, err := host.Open(t.Context(), host.Config{Plugins: []host.Plugin{confined(s)}})
		if e, ok := errors.AsType[*host.Error](err); !ok || e.Code != host.InvalidConfig || !strings.Contains(e.Error(), "plugin confined: sandbox: ") || !strings.Contains(e.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}
