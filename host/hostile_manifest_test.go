package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// hostileTool is a tool that is fine but for what change does.
func hostileTool(id string, change func(*pb.Tool)) *pb.Tool {
	t := &pb.Tool{Id: id, Description: "Does something.", InputSchema: []byte(`{"type":"object"}`)}
	if change != nil {
		change(t)
	}
	return t
}

// T9, T17, T18: what a manifest may hold, to the byte. A tool beyond it is refused with the reason, and its siblings live. The
// manifests are read as they come off the wire: the SDK sends none of these.
func TestT9_T18_HostileDefinitions(t *testing.T) {
	icons := func(size int) []byte {
		const around = len(`[{"src":"data:"}]`)
		return []byte(`[{"src":"data:` + strings.Repeat("A", size-around) + `"}]`)
	}
	for _, tt := range []struct {
		name   string
		id     string // if not empty, in place of x
		change func(*pb.Tool)
		reason string // empty: the tool is taken
	}{
		{name: "title at the limit", change: func(t *pb.Tool) { t.Title = strings.Repeat("x", 120) }},
		{name: "title over it", change: func(t *pb.Tool) { t.Title = strings.Repeat("x", 121) }, reason: "a title of 121 bytes; the limit is 120"},
		{name: "title of 41 wide letters", change: func(t *pb.Tool) { t.Title = strings.Repeat("東", 41) }, reason: "a title of 123 bytes"},
		{name: "description at the limit", change: func(t *pb.Tool) { t.Description = strings.Repeat("x", 8<<10) }},
		{name: "description over it", change: func(t *pb.Tool) { t.Description = strings.Repeat("x", 8<<10+1) }, reason: "a description of 8193 bytes; the limit is 8192"},
		{name: "icons at the limit", change: func(t *pb.Tool) { t.Icons = icons(32 << 10) }},
		{name: "icons over it", change: func(t *pb.Tool) { t.Icons = icons(32<<10 + 1) }, reason: "icons of 32769 bytes; the limit is 32768"},
		{name: "further members at the limit", change: func(t *pb.Tool) { t.Extra = []byte(`{"x":"` + strings.Repeat("x", 32<<10-8) + `"}`) }},
		{name: "further members over it", change: func(t *pb.Tool) { t.Extra = []byte(`{"x":"` + strings.Repeat("x", 32<<10-7) + `"}`) }, reason: "further members of 32769 bytes; the limit is 32768"},
		{name: "further members that are no object", change: func(t *pb.Tool) { t.Extra = []byte(`[{}]`) }, reason: "extra: expected JSON that begins with {"},
		{name: "further members that are no JSON", change: func(t *pb.Tool) { t.Extra = []byte(`{"x":`) }, reason: "extra: "},
		{name: "a schema among the further members", change: func(t *pb.Tool) { t.Extra = []byte(`{"input\u0053chema":{}}`) }, reason: "extra: inputSchema has a field of its own"},
		{name: "hidden in a further member", change: func(t *pb.Tool) { t.Extra = []byte(`{"x":"a\u200b"}`) }, reason: "extra/x: a character that nobody sees"},
		{name: "schema over its limit", change: func(t *pb.Tool) { t.InputSchema = []byte(`{"title":"` + strings.Repeat("x", 257<<10) + `"}`) }, reason: "inputSchema: "},
		{name: "no description", change: func(t *pb.Tool) { t.Description = " \n" }, reason: "no description"},

		{name: "escape in a title", change: func(t *pb.Tool) { t.Title = "\x1b[31mred" }, reason: "control characters"},
		{name: "C1 in a title", change: func(t *pb.Tool) { t.Title = "a\u009b31m" }, reason: "control characters"},
		{name: "delete in a description", change: func(t *pb.Tool) { t.Description = "a\x7f" }, reason: "control characters"},
		{name: "carriage return in a description", change: func(t *pb.Tool) { t.Description = "fine\rGood." }, reason: "control characters"},
		{name: "lines in a description", change: func(t *pb.Tool) { t.Description = "One.\n\tTwo." }},
		{name: "lines in a title", change: func(t *pb.Tool) { t.Title = "One\nTwo" }, reason: "control characters"},
		{name: "line separator in a title", change: func(t *pb.Tool) { t.Title = "One\u2028Two" }, reason: "control characters"},
		{name: "escape in the title of its annotations", change: func(t *pb.Tool) { t.Annotations = &pb.Annotations{Title: "\x1b]0;x\x07"} }, reason: "control characters"},
		{name: "long title of its annotations", change: func(t *pb.Tool) { t.Annotations = &pb.Annotations{Title: strings.Repeat("x", 121)} }, reason: "a title of 121 bytes"},
		{name: "private use", change: func(t *pb.Tool) { t.Title = "a\ue000" }, reason: "control characters"},
		{name: "no UTF-8", change: func(t *pb.Tool) { t.Title = "a\xff" }, reason: "control characters"},
		{name: "turned direction", change: func(t *pb.Tool) { t.Title = "gnp.exe\u202e" }, reason: "title: a character that nobody sees"},
		{name: "isolated direction", change: func(t *pb.Tool) { t.Description = "a \u2067b\u2069" }, reason: "description: a character that nobody sees"},
		{name: "zero width", change: func(t *pb.Tool) { t.Title = "wea\u200bther" }, reason: "title: a character that nobody sees"},
		{name: "tags", change: func(t *pb.Tool) { t.Description = "a\U000e0041\U000e0042" }, reason: "description: a character that nobody sees"},
		{name: "variation selectors", change: func(t *pb.Tool) { t.Description = "a\ufe01\ufe02" }, reason: "description: a character that nobody sees"},
		{name: "hidden in a property's name", change: func(t *pb.Tool) {
			t.InputSchema = []byte(`{"properties":{"a\u200b":{}}}`)
		}, reason: "inputSchema/properties/a"},
		{name: "an emoji, a joiner that is needed, an accent", change: func(t *pb.Tool) { t.Title = "👩‍🚀 naïve کند" }},

		{name: "empty id", id: "-", change: func(t *pb.Tool) { t.Id = "" }, reason: `id "": use 1 to 64 letters`},
		{name: "long id", id: strings.Repeat("x", 65), reason: "use 1 to 64 letters"},
		{name: "longest id", id: strings.Repeat("x", 64)},
		{name: "path as an id", id: "../../x", reason: `id "../../x": use 1 to 64 letters`},
		{name: "Cyrillic id", id: "wеather", reason: "use 1 to 64 letters"},
		{name: "control in an id", id: "a\x1b[2J", reason: `id "a\x1b[2J": use 1 to 64 letters`},
		{name: "dot in an id", id: "a.b", reason: "use 1 to 64 letters"},
		{name: "the id of its sibling", id: "sibling", reason: "the id was registered twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := tt.id
			if id == "" {
				id = "x"
			}
			tools, bad, err := host.ReadManifest(&pb.Manifest{Role: pb.Role_ROLE_TOOLS, Tools: []*pb.Tool{hostileTool("sibling", nil), hostileTool(id, tt.change)}})
			if err != nil {
				t.Fatal(err)
			}
			if tt.reason == "" {
				if diff := cmp.Diff([]string{"sibling", id}, tools); diff != "" || len(bad) > 0 {
					t.Errorf("%s, refused: %.200v", diff, bad)
				}
				return
			}
			if diff := cmp.Diff([]string{"sibling"}, tools); diff != "" {
				t.Error(diff)
			}
			if len(bad) != 1 || !strings.Contains(bad[0].Reason, tt.reason) || len(bad[0].ID) > 67 || len(bad[0].Reason) > 1<<10+3 {
				t.Errorf("refused: %.300v, want %q", bad, tt.reason)
			}
		})
	}
}

// T9: a manifest as a whole.
func TestT9_HostileManifests(t *testing.T) {
	many := &pb.Manifest{Role: pb.Role_ROLE_TOOLS}
	for i := range 100_000 {
		many.Tools = append(many.Tools, &pb.Tool{Id: fmt.Sprint("t", i), Description: "x"})
	}
	tools, bad, err := host.ReadManifest(many)
	if err != nil || len(tools) != 1000 || len(bad) != 1 || bad[0].Reason != "100000 tools; only the first 1000 are taken" {
		t.Errorf("%d tools, %v, %v", len(tools), bad, err)
	}
	big := &pb.Manifest{Role: pb.Role_ROLE_TOOLS, Tools: []*pb.Tool{hostileTool("x", func(t *pb.Tool) { t.Description = strings.Repeat("x", 4<<20) })}}
	if _, _, err := host.ReadManifest(big); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("a manifest of %d bytes; the limit is %d", proto.Size(big), 4<<20)) {
		t.Error(err)
	}
	liar := &pb.Manifest{Role: pb.Role_ROLE_TOOLS, Tools: []*pb.Tool{hostileTool("x", nil)}}
	for range 3000 {
		liar.BadTools = append(liar.BadTools, &pb.BadTool{Id: strings.Repeat("i", 500), Error: strings.Repeat("e", 500)})
	}
	tools, bad, err = host.ReadManifest(liar)
	if err != nil || len(tools) != 1 || len(bad) != 100 || len(bad[0].ID) > 67 {
		t.Errorf("%d tools, %d bad, %v", len(tools), len(bad), err)
	}
	if _, _, err := host.ReadManifest(&pb.Manifest{Role: 77}); err == nil {
		t.Error("an unknown role was taken")
	}
}
