package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// S1: settings, and what the host knows, are in no plugin's environment or arguments, where every process of the user reads
// them. What the operator put there for this plugin is.
func TestS1_SecretsAreNeitherInTheEnvironmentNorInArguments(t *testing.T) {
	const secret, hosts = "s3cret-setting", "s3cret-of-the-host"
	for _, name := range []string{"API_TOKEN", "AWS_SECRET_ACCESS_KEY", "TOOLHOST_KEY", "LD_LIBRARY_PATH"} {
		t.Setenv(name, hosts)
	}
	p := self("settings", "settings")
	p.Settings = json.RawMessage(`{"greeting":"` + secret + `"}`)
	p.Args = []string{"--given"}
	h := open(t, host.Config{Keys: [][]byte{[]byte("s3cret-key-of-thirty-two-bytes--")}}, p)
	if got := string(call(t, h, "greet", `{}`).Output); got != `"`+secret+`"` {
		t.Fatalf("the plugin has the settings %s", got)
	}
	pid := status(t, h).PID
	for file, want := range map[string]string{"environ": "TEST_PLUGIN=settings", "cmdline": "--given"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not the plugin's: %q", file, text)
		}
		if strings.Contains(string(text), "s3cret") {
			t.Errorf("%s holds a secret: %q", file, text)
		}
	}
}
