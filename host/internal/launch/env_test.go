//go:build linux

package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestEnviron(t *testing.T) {
	host := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "LANG=de", "TZ=UTC", "https_proxy=http://p", "SSL_CERT_FILE=/c", "TMPDIR=/t",
		"AWS_SECRET_ACCESS_KEY=s", "PLUGIN_CLIENT_CERT=x", "PLUGIN_ANY=x", "TOOLHOST_STATE=x", "TOOLHOST_PLUGIN=x",
		"XDG_RUNTIME_DIR=/run", "LD_PRELOAD=/evil", "GIVEN=host", "=odd", "noequals",
	}
	own := []string{"HOME=/mine", "GIVEN=own", "EMPTY=", "TOOLHOST_PLUGIN_CONN=7", "PLUGIN_MULTIPLEX_GRPC=true", "HOME=/last", "E=a=b"}
	env, dropped := environ("linux", host, StandardEnv(), own)
	slices.Sort(env)
	wantEnv := []string{
		"E=a=b", "EMPTY=", "GIVEN=own", "HOME=/last", "LANG=de", "LC_ALL=C", "PATH=/bin", "SSL_CERT_FILE=/c", "TMPDIR=/t", "TZ=UTC",
		"https_proxy=http://p",
	}
	wantDropped := []string{
		"AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "PLUGIN_ANY", "PLUGIN_CLIENT_CERT", "PLUGIN_MULTIPLEX_GRPC",
		"TOOLHOST_PLUGIN", "TOOLHOST_PLUGIN_CONN", "TOOLHOST_STATE", "XDG_RUNTIME_DIR",
	}
	if diff := cmp.Diff(wantEnv, env); diff != "" {
		t.Error("env", diff)
	}
	if diff := cmp.Diff(wantDropped, dropped); diff != "" {
		t.Error("dropped", diff)
	}
}

// Windows knows a variable by its name in whatever case.
func TestEnviron_Windows(t *testing.T) {
	host := []string{"=C:=C:\\dir", "Path=C:\\bin", "SystemRoot=C:\\Windows", "Temp=C:\\t", "Secret=s", "toolhost_state=x", "Plugin_Min_Port=1", "No_Proxy=x"}
	own := []string{"PATH=C:\\own", "toolhost_plugin_conn=7", "Key=a", "KEY=b"}
	env, dropped := environ("windows", host, []string{"path", "SYSTEMROOT", "TEMP", "no_*", "TOOLHOST_*"}, own)
	slices.Sort(env)
	if diff := cmp.Diff([]string{"Key=b", "No_Proxy=x", "Path=C:\\own", "SystemRoot=C:\\Windows", "Temp=C:\\t"}, env); diff != "" {
		t.Error("env", diff)
	}
	if diff := cmp.Diff([]string{"Plugin_Min_Port", "Secret", "toolhost_plugin_conn", "toolhost_state"}, dropped); diff != "" {
		t.Error("dropped", diff)
	}
}

// S1, S2, S4: what a plugin of a host that is itself a plugin really sees.
func TestS1_S2_S4_TheChildsEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"SECRET_TOKEN": "s1", "S2_BOTH": "host", "HOME": "/host", "TOOLHOST_PLUGIN": "garbage", "TOOLHOST_PLUGIN_CONN": "99",
		"PLUGIN_CLIENT_CERT": "garbage", "PLUGIN_MULTIPLEX_GRPC": "true", "PLUGIN_PROTOCOL_VERSIONS": "77",
		"PLUGIN_UNIX_SOCKET_DIR": "/garbage", "PLUGIN_UNIX_SOCKET_GROUP": "garbage", "PLUGIN_MIN_PORT": "1",
	} {
		t.Setenv(name, value)
	}
	l := newLauncher(t)
	spec := self(nil, append([]string{"env"}, conforming...)...)
	spec.Env = []string{"GORACE=atexit_sleep_ms=0", "S2_BOTH=own", "HOME=/own"}
	p := start(t, l, spec)
	defer p.Kill()
	if err := healthy(p); err != nil {
		t.Error(err)
	}
	got := strings.Split(strings.TrimSpace(string(p.Exit().Stderr)), "\n")
	for _, want := range []string{
		"S2_BOTH=own", "HOME=/own", "PATH=" + os.Getenv("PATH"), "TOOLHOST_PLUGIN=toolplugin.v1", "TOOLHOST_PLUGIN_CONN=3",
		"PLUGIN_PROTOCOL_VERSIONS=1",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	for _, kv := range got {
		for _, word := range []string{"SECRET", "garbage", "=host", "MULTIPLEX", "UNIX_SOCKET", "=99"} {
			if strings.Contains(kv, word) {
				t.Errorf("leaked: %s", kv)
			}
		}
	}
}

// No descriptor of the host reaches the child, not even one without
// close-on-exec that the host inherited.
func TestS6_Descriptors(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	low, err := syscall.Open(secret, syscall.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(low)
	high := low + 40
	if err := unix.Dup3(low, high, 0); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(high)
	l := newLauncher(t)
	other := start(t, l, self(nil, conforming...))
	defer other.Kill()
	p := start(t, l, self(nil, append([]string{"fds"}, conforming...)...))
	defer p.Kill()
	p.Flush(t.Context()) // the child wrote before it said that it is ready
	list := string(p.Exit().Stderr)
	if strings.Contains(list, secret) {
		t.Error(list)
	}
	var pipes, sockets int
	for line := range strings.Lines(list) {
		if strings.Contains(line, " pipe:") {
			pipes++
		}
		if strings.Contains(line, " socket:") {
			sockets++
		}
	}
	if pipes != 3 || sockets != 2 {
		t.Errorf("%d pipes and %d sockets in\n%s", pipes, sockets, list)
	}
}
