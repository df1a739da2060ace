package host_test

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/host"
)

func TestModelOutputText(t *testing.T) {
	for _, tt := range []struct{ kind, value, want string }{
		{"text", `"a\nb"`, "a\nb"},
		{"error-text", `"{\"status\":\"error\"}"`, `{"status":"error"}`},
		{"json", `{"a":1.0}`, `{"a":1.0}`},
		{"json", `"s"`, "s"},
		{"content", `[{"type":"text","text":"a"},{"type":"image-url","url":"u"},{"type":"text","text":"b"}]`, "a\n" + `{"type":"image-url","url":"u"}` + "\nb"},
		{"content", `7`, "7"},
		{"", ``, ""},
	} {
		if got := (host.ModelOutput{Type: tt.kind, Value: json.RawMessage(tt.value)}).Text(); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.kind, tt.value, got, tt.want)
		}
	}
	if got := (&host.Error{Op: "call", Tool: "t", Code: host.Denied}).Model().Text(); got != `{"status":"denied","code":"denied","message":"call t: denied"}` {
		t.Error(got)
	}
}
