package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

func TestSandbox(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	yes, no, mask := true, false, 0o77
	tests := []struct {
		text string
		want host.Sandbox
	}{
		{`strict`, host.Sandbox{Profile: host.ProfileStrict}},
		{`{}`, host.Sandbox{}},
		{`{network: none}`, host.Sandbox{Network: host.NetworkNone}},
		{`{env: []}`, host.Sandbox{Env: []string{}}},
		{`{profile: strict, bestEffort: true, env: [LANG, "LC_*"], dir: d, privateTemp: false, memory: 3GiB, cpu: 1m30s, tasks: 64,
			openFiles: 100, fileSize: 1MiB, umask: "0077", noNewPrivileges: true, pid: true, mount: false, ipc: true, network: host,
			read: [/data, ~/x, rel], write: [../out], syscalls: false}`, host.Sandbox{
			Profile: host.ProfileStrict, BestEffort: true, Env: []string{"LANG", "LC_*"}, Dir: "/etc/toolhost/d", PrivateTemp: &no,
			Memory: 3 << 30, CPU: 90 * time.Second, Tasks: 64, OpenFiles: 100, FileSize: 1 << 20, Umask: &mask, NoNewPrivileges: &yes,
			PID: &yes, Mount: &no, IPC: &yes, Network: host.NetworkHost,
			Read: []string{"/data", "/home/ada/x", "/etc/toolhost/rel"}, Write: []string{"/etc/out"}, Syscalls: &no,
		}},
	}
	for _, tt := range tests {
		got, err := Parse("/etc/toolhost/toolhost.yaml", []byte("plugins: {w: {path: /x, sandbox: "+tt.text+"}}"))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got.Plugins[0].Sandbox); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// The example of docs/sandbox.md.
func TestSandbox_Example(t *testing.T) {
	got, err := Load("testdata/sandbox.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Plugins) != 3 || got.Plugins[1].Sandbox.Profile != host.ProfileStrict || got.Plugins[2].Sandbox.Memory != 256<<20 {
		t.Errorf("%+v", got.Plugins)
	}
}
