package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

func TestSettings(t *testing.T) {
	for _, tt := range []struct{ settings, err string }{
		{`{"command":"npx","args":["-y","x"],"env":{"KEY":"k"},"cwd":"/tmp"}`, ""},
		{`{"command":"x","type":"stdio","era":"legacy","timeout":"2s","output":"off","idempotent":["a"]}`, ""},
		{`{"url":"https://example.com/mcp?x=1","headers":{"Authorization":"Bearer k"}}`, ""},
		{`{"url":"http://localhost:1/mcp","type":"http"}`, ""},
		{`{"url":"http://localhost:1/mcp","type":"streamable-http","era":"auto"}`, ""},
		{`{}`, "neither command nor url"},
		{`{"command":"x","url":"https://x/"}`, "at /url: a command and a url"},
		{`{"url":"https://x/","type":"sse"}`, "at /type: sse is the transport that MCP gave up"},
		{`{"url":"https://x/","type":"ws"}`, `at /type: "ws": want stdio or http`},
		{`{"url":"https://x/","type":"stdio"}`, "at /type: stdio is for a command"},
		{`{"command":"x","type":"http"}`, "at /type: http is for a url"},
		{`{"url":"ftp://x/"}`, "at /url: no http or https URL"},
		{`{"url":"x"}`, "at /url: no http or https URL"},
		{`{"url":"https://me:secret@x/"}`, "at /url: a name or password in the URL"},
		{`{"url":"https://x/#a"}`, "at /url: a fragment"},
		{`{"url":"https://x/","args":["a"]}`, "at /args: is for a command"},
		{`{"url":"https://x/","env":{"A":"secret"}}`, "at /env: is for a command"},
		{`{"url":"https://x/","cwd":"/"}`, "at /cwd: is for a command"},
		{`{"url":"https://x/","headers":{"A b":"secret"}}`, `at /headers: "A b" is no name of a header`},
		{`{"url":"https://x/","headers":{"A":"secret\r\nB: c"}}`, "at /headers: the value of A has a control character"},
		{`{"command":"x","headers":{"A":"secret"}}`, "at /headers: is for a url"},
		{`{"command":"x","env":{"A=B":"secret"}}`, `at /env: "A=B"`},
		{`{"command":"x\u0000"}`, "at /command: a NUL"},
		{`{"command":"x","era":"old"}`, `at /era: "old"`},
		{`{"command":"x","timeout":"5"}`, `at /timeout: "5" is no positive duration`},
		{`{"command":"x","timeout":"-5s"}`, `at /timeout: "-5s" is no positive duration`},
		{`{"command":"x","output":"maybe"}`, `at /output: "maybe"`},
	} {
		var s settings
		if err := json.Unmarshal([]byte(tt.settings), &s); err != nil {
			t.Fatal(err)
		}
		err := s.check()
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.settings, err, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the secret: %v", tt.settings, err)
		}
	}
	if s := (settings{Timeout: "3s"}); s.timeout() != 3*time.Second || s.patience() != 2700*time.Millisecond {
		t.Errorf("timeout %s, patience %s", s.timeout(), s.patience())
	}
	if s := (settings{}); s.timeout() != defaultTimeout || s.patience() != defaultPatience {
		t.Errorf("timeout %s, patience %s", s.timeout(), s.patience())
	}
}

// TestSettings_TheHostShowsNoSecret: what the host says of settings that do not fit has no value of a header or variable.
func TestSettings_TheHostShowsNoSecret(t *testing.T) {
	for _, tt := range []struct{ settings, err string }{
		{`{"command":"x","alwaysAllow":["a"]}`, "alwaysAllow"},
		{`{"url":"https://x/","headers":{"Authorization":["secret"]}}`, "headers"},
		{`{"command":"x","env":{"KEY":{"value":"secret"}}}`, "env"},
		{`{"command":"x","era":"none"}`, "era"},
	} {
		f := &fake{tools: []string{plain("one")}}
		h := openHost(t, host.Config{}, f.plugin(t, "far", tt.settings))
		if got := names(h); got != nil {
			t.Errorf("%s: tools %v", tt.settings, got)
		}
		if s := status(t, h, "far"); !strings.Contains(s.Error, tt.err) || strings.Contains(s.Error, "secret") {
			t.Errorf("%s: %q, want %q", tt.settings, s.Error, tt.err)
		}
	}
}
