package pluginsdk

import (
	"encoding/json"
	"strings"
	"testing"
)

type nestedDoc struct{ N int }

func (n *nestedDoc) UnmarshalJSON(raw []byte) error {
	var inner struct{ Num int }
	defer func() { n.N = inner.Num }()
	return json.Unmarshal(raw, &inner)
}

func TestDecodeErrorsNameThePlace(t *testing.T) {
	type doc struct {
		A struct {
			B map[string][]int `json:"b"`
		} `json:"a"`
		S string    `json:"s/~t"`
		O struct{}  `json:"o"`
		L []int     `json:"l"`
		D nestedDoc `json:"d"`
	}
	for in, want := range map[string]string{
		`{"a":{"b":{"x":[1,2],"y":[3,"4"]}}}`: "at /a/b/y/1: string does not fit int",
		`{"a":{"b":{"x":[1,2],"y":{}}}}`:      "at /a/b/y: object does not fit []int",
		`{"l":[1,2,[]]}`:                      "at /l/2: array does not fit int",
		`{"l":1.5, "s/~t":2}`:                 "at /l: number does not fit []int",
		`{"o":{},"s/~t":2}`:                   "at /s~1~0t: number does not fit string",
		`{"a":[]}`:                            "at /a: array does not fit",
		`[]`:                                  "at /: array does not fit",
		`{"l":[1e999]}`:                       "at /l/0: number 1e999 does not fit int",
		`{"d":{"Num":"x"}}`:                   "/Num: string does not fit int",
		`{"a":{}`:                             "at byte 7: unexpected end",
		`{} {}`:                               "at byte 4: invalid character '{' after top-level value",
	} {
		err := decode([]byte(in), &doc{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
	var any any
	for _, in := range []string{`{} 1`, `{`} {
		if decode([]byte(in), &any) == nil {
			t.Errorf("%s was decoded", in)
		}
	}
}

func TestModelOutputForms(t *testing.T) {
	content := func(parts ...Part) ModelOutput {
		t.Helper()
		m, err := Content(parts...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	js, err := JSON(map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		m    ModelOutput
		want string
	}{
		{ModelOutput{}, ""},
		{Text("é\n"), `{"type":"text","value":"é\n"}`},
		{js, `{"type":"json","value":{"a":1}}`},
		{content(), `{"type":"content","value":[]}`},
		{content(
			Part{Type: PartText}, Part{Type: PartImageURL, URL: "u"}, Part{Type: PartImageData, Data: []byte{1}, MediaType: "image/png"},
			Part{Type: PartFileURL, URL: "u"}, Part{Type: PartFileData, Data: []byte{2}, MediaType: "a/b", Filename: "f"},
			Part{Type: PartFileID, FileID: "1"}, Part{Type: PartImageFileID, FileID: "2"},
			Part{Type: PartCustom, ProviderOptions: json.RawMessage(`{"p":1}`)},
		), `{"type":"content","value":[{"type":"text","text":""},{"type":"image-url","url":"u"},{"type":"image-data","data":"AQ==","mediaType":"image/png"},` +
			`{"type":"file-url","url":"u"},{"type":"file-data","data":"Ag==","mediaType":"a/b","filename":"f"},{"type":"file-id","fileId":"1"},` +
			`{"type":"image-file-id","fileId":"2"},{"type":"custom","providerOptions":{"p":1}}]}`},
	} {
		got, err := tt.m.encode()
		if err != nil || string(got) != tt.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
		}
	}
	for want, p := range map[string]Part{
		"part 0: unknown type":                      {},
		"part 0: image-url without URL":             {Type: PartImageURL},
		"part 0: file-data without Data MediaType":  {Type: PartFileData},
		"part 0: file-id without FileID":            {Type: PartFileID},
		"part 0: custom without ProviderOptions":    {Type: PartCustom},
		"part 0: ProviderOptions is no JSON object": {Type: PartText, ProviderOptions: json.RawMessage("1")},
		"part 0: image-data without MediaType":      {Type: PartImageData, Data: []byte{1}},
	} {
		if _, err := Content(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, m := range []ModelOutput{
		{Type: "text", Value: json.RawMessage("1")}, {Type: "content", Value: json.RawMessage("{}")}, {Type: "json"},
		{Type: "json", Value: json.RawMessage("{")}, {Type: "x", Value: json.RawMessage("1")},
	} {
		if raw, err := m.encode(); err == nil {
			t.Errorf("%v was encoded: %s", m, raw)
		}
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
