package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Every form of ToModelOutput's result.
func TestR10_ModelForms(t *testing.T) {
	raw := func(typ, value string) (ModelOutput, error) {
		return ModelOutput{Type: typ, Value: json.RawMessage(value)}, nil
	}
	type value struct {
		Value int    `json:"value"`
		Unit  string `json:"unit"`
	}
	for _, tt := range []struct {
		name        string
		f           func() (ModelOutput, error)
		want, error string
	}{
		{"text", func() (ModelOutput, error) { return Text("<b>\n"), nil }, `{"type":"text","value":"<b>\n"}`, ""},
		{"b37: value is not unwrapped", func() (ModelOutput, error) { return JSON(value{5, "C"}) }, `{"type":"json","value":{"value":5,"unit":"C"}}`, ""},
		{"b38: a bare string", func() (ModelOutput, error) { return raw("", ` "sun"`) }, `{"type":"text","value":"sun"}`, ""},
		{"json null", func() (ModelOutput, error) { return raw("json", `null`) }, `{"type":"json","value":null}`, ""},
		{"numbers keep their spelling", func() (ModelOutput, error) { return raw("json", `12345678901234567890.10`) }, `{"type":"json","value":12345678901234567890.10}`, ""},
		{"no parts", func() (ModelOutput, error) { return Content() }, `{"type":"content","value":[]}`, ""},
		{"parts", func() (ModelOutput, error) {
			return Content(Part{Type: PartText}, Part{Type: PartImageURL, URL: "u"}, Part{Type: PartImageData, Data: []byte("d"), MediaType: "image/png"},
				Part{Type: PartFileURL, URL: "u"}, Part{Type: PartFileData, Data: []byte("d"), MediaType: "m", Filename: "f"},
				Part{Type: PartFileID, FileID: "i"}, Part{Type: PartImageFileID, FileID: "i"},
				Part{Type: PartCustom, ProviderOptions: json.RawMessage(`{"p":{}}`)})
		}, `{"type":"content","value":[{"type":"text","text":""},{"type":"image-url","url":"u"},{"type":"image-data","data":"ZA==","mediaType":"image/png"},` +
			`{"type":"file-url","url":"u"},{"type":"file-data","data":"ZA==","mediaType":"m","filename":"f"},{"type":"file-id","fileId":"i"},` +
			`{"type":"image-file-id","fileId":"i"},{"type":"custom","providerOptions":{"p":{}}}]}`, ""},
		{"parts by hand", func() (ModelOutput, error) { return raw("content", `[{"type":"text","text":"a","more":1}]`) }, `{"type":"content","value":[{"type":"text","text":"a","more":1}]}`, ""},
		{"nothing", func() (ModelOutput, error) { return ModelOutput{}, nil }, "", ""},

		// b39: the host shows the output itself, and is told why.
		{"error", func() (ModelOutput, error) { return Text("x"), errors.New("why") }, "", "why"},
		{"no type", func() (ModelOutput, error) { return raw("", `{}`) }, "", `unknown type ""`},
		{"unknown type", func() (ModelOutput, error) { return raw("poem", `1`) }, "", `unknown type "poem"`},
		{"no value", func() (ModelOutput, error) { return raw("json", ``) }, "", "no value"},
		{"broken value", func() (ModelOutput, error) { return raw("json", `{"a":`) }, "", "model output: "},
		{"a text that is none", func() (ModelOutput, error) { return raw("text", `1`) }, "", "no JSON string"},
		{"a content that is none", func() (ModelOutput, error) { return raw("content", `{}`) }, "", "no JSON array"},
		{"a broken content", func() (ModelOutput, error) { return raw("content", `[`) }, "", "no JSON array"},
		{"an unknown part", func() (ModelOutput, error) { return raw("content", `[{"type":"text"},{"type":"song"}]`) }, "", `part 1: unknown type "song"`},
		{"a part that is none", func() (ModelOutput, error) { return raw("content", `["a"]`) }, "", "part 0: "},
		{"a part without its field", func() (ModelOutput, error) { return Content(Part{Type: PartImageData}) }, "", "part 0: image-data without Data MediaType"},
		{"no JSON", func() (ModelOutput, error) { return JSON(func() {}) }, "", "unsupported type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			h := serveTools(t, Tool[nothing, string]{
				ID: "m", Description: "d",
				Execute:       func(context.Context, *Call, nothing) (string, error) { return "real", nil },
				ToModelOutput: func(context.Context, nothing, string) (ModelOutput, error) { calls++; return tt.f() },
			})
			c := h.open("m", "{}", func(o *pb.Open) { o.Model = true })
			out := c.output()
			d := out.GetDerived()
			if string(out.GetOutput()) != `"real"` || string(d.GetModel()) != tt.want || !strings.Contains(d.GetModelError(), tt.error) || (tt.error == "") != (d.GetModelError() == "") {
				t.Errorf("model %s, error %q", d.GetModel(), d.GetModelError())
			}
			c.closed()
			if calls != 1 {
				t.Errorf("ToModelOutput ran %d times", calls)
			}
		})
	}
}
