package schema

import (
	"os"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	regexp2.StopTimeoutClock() // it would end by itself a second after the last match
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error())
		code = 1
	}
	os.Exit(code)
}

// repeat joins n generated parts.
func repeat(n int, sep string, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, sep)
}

func mustParse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text), Limits{})
	if err != nil {
		t.Fatalf("Parse(%.100s): %v", text, err)
	}
	return d
}

func mustCompile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile([]byte(text))
	if err != nil {
		t.Fatalf("Compile(%.100s): %v", text, err)
	}
	return s
}

// smallSchema and smallInput are those of research/performance.md, section 11.
const (
	smallSchema = `{"type":"object","properties":{"location":{"type":"string","minLength":1},"units":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":16}},"required":["location"],"additionalProperties":false}`
	smallInput  = `{"location":"Berlin","units":"celsius","days":3}`
)

// largeSchema is shaped like the input of a code host's "pull request" tool, with 2 KB of input to it.
var largeSchema, largeInput = func() (string, string) {
	text := func(more string) string { return `{"type":"string"` + more + `}` }
	user := `{"type":"object","properties":{"login":` + text(`,"minLength":1,"maxLength":39`) + `,"id":{"type":"integer","minimum":1},"kind":{"enum":["User","Bot"]},"admin":{"type":"boolean"},"email":{"type":["string","null"]}},"required":["login","id"],"additionalProperties":false}`
	repo := `{"type":"object","properties":{"owner":{"$ref":"#/$defs/user"},"name":` + text(`,"minLength":1`) + `,"private":{"type":"boolean"},"stars":{"type":"integer","minimum":0},"topics":{"type":"array","items":` + text("") + `,"uniqueItems":true},"branch":` + text("") + `},"required":["owner","name"],"additionalProperties":false}`
	side := `{"type":"object","properties":{"ref":` + text("") + `,"sha":` + text(`,"pattern":"^[0-9a-f]{40}$"`) + `,"repo":{"$ref":"#/$defs/repo"}},"required":["ref"],"additionalProperties":false}`
	file := `{"type":"object","properties":{"path":` + text("") + `,"status":{"enum":["added","modified","removed"]},"additions":{"type":"integer","minimum":0},"ratio":{"type":"number","maximum":1}},"required":["path","status"],"additionalProperties":false}`
	schema := `{"$defs":{"user":` + user + `,"repo":` + repo + `},"type":"object","properties":{"title":` + text(`,"maxLength":256`) + `,"body":` + text("") + `,"number":{"type":"integer"},"head":` + side + `,"base":` + side + `,"user":{"$ref":"#/$defs/user"},"assignees":{"type":"array","items":{"$ref":"#/$defs/user"}},"files":{"type":"array","items":` + file + `},"milestone":{"anyOf":[{"type":"null"},{"type":"object","properties":{"title":` + text("") + `},"required":["title"]}]},"options":{"oneOf":[{"type":"object","properties":{"method":{"const":"merge"}},"required":["method"]},{"type":"object","properties":{"method":{"const":"squash"}},"required":["method"]}]}},"required":["title","head","base"],"additionalProperties":false}`

	userIn := `{"login":"octo","id":42,"kind":"User","admin":false,"email":null}`
	sideIn := `{"ref":"feature","sha":"0123456789abcdef0123456789abcdef01234567","repo":{"owner":` + userIn + `,"name":"hello","private":false,"stars":12,"topics":["go","grpc","tools"],"branch":"main"}}`
	input := `{"title":"Add the thing","body":"A body with some text, long enough to look like a real one.\nTwo lines.","number":17,"head":` + sideIn + `,"base":` + sideIn + `,"user":` + userIn + `,"assignees":[` + userIn + `,` + userIn + `],"files":[` +
		repeat(10, ",", func(int) string {
			return `{"path":"internal/pkg/file_of_the_change.go","status":"modified","additions":31,"ratio":0.25}`
		}) + `],"milestone":{"title":"v1"},"options":{"method":"squash","title":"t"}}`
	return schema, input
}()
