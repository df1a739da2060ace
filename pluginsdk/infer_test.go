package pluginsdk

import (
	"encoding/json"
	"io"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

type base struct {
	Shared string `json:"shared"`
}

type node struct {
	Name string  `json:"name"`
	Kids []*node `json:"kids,omitempty"`
}

type page[T any] struct {
	Items []T      `json:"items"`
	Next  *page[T] `json:"next,omitempty"`
}

type upper string

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }

type free struct{}

func (f free) MarshalJSON() ([]byte, error)  { return []byte("1"), nil }
func (f *free) UnmarshalJSON(b []byte) error { return nil }

type own struct{}

func (own) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: "^x"} }

// The rows are those of providers-schema.md section 7. value is what encoding/json writes for
// a value of the type, which is what the schema must describe.
func TestInferRows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any // a struct with one field F
		reads string
		write string // if empty, as reads
	}{
		{"required", struct{ F string }{}, `{"type":"string"} required`, ""},
		{"omitempty", struct {
			F string `json:",omitempty"`
		}{}, `{"type":"string"}`, ""},
		{"omitzero", struct {
			F string `json:",omitzero"`
		}{}, `{"type":"string"}`, ""},
		{"pointer", struct{ F *string }{}, `{"type":"string"}`, `{"type":["string","null"]} required`},
		{"pointer omitempty", struct {
			F *string `json:",omitempty"`
		}{}, `{"type":"string"}`, ""},
		{"pointer required", struct {
			F *string `jsonschema:"required"`
		}{}, `{"type":"string"} required`, `{"type":["string","null"]} required`},
		{"enum", struct {
			F string `jsonschema:"enum=a,enum=b"`
		}{}, `{"type":"string","enum":["a","b"]} required`, ""},
		{"bounds", struct {
			F int `jsonschema:"minimum=1,maximum=9,default=3"`
		}{}, `{"type":"integer","maximum":9,"minimum":1,"default":3} required`, ""},
		{"description", struct {
			F int `jsonschema_description:"one, two"`
		}{}, `{"type":"integer","description":"one, two"} required`, ""},
		{"sensitive", struct {
			F string `jsonschema_extras:"x-sensitive=true"`
		}{}, `{"type":"string","x-sensitive":true} required`, ""},
		{"time", struct{ F time.Time }{}, `{"type":"string","format":"date-time"} required`, ""},
		{"duration", struct{ F time.Duration }{}, `{"type":"integer","title":"nanoseconds"} required`, ""},
		{"bytes", struct{ F []byte }{}, `{"type":"string","contentEncoding":"base64"} required`, `{"contentEncoding":"base64","type":["string","null"]} required`},
		{"raw", struct{ F json.RawMessage }{}, `true required`, ""},
		{"any", struct{ F any }{}, `true required`, ""},
		{"quoted", struct {
			F int `json:",string"`
		}{}, `{"type":"string"} required`, ""},
		{"number", struct{ F json.Number }{}, `{"type":"number"} required`, ""},
		{"big", struct{ F big.Int }{}, `{"type":"integer"} required`, ""},
		{"addr", struct{ F netip.Addr }{}, `{"type":"string"} required`, ""},
		{"text", struct{ F upper }{}, `{"type":"string"} required`, ""},
		{"free", struct{ F free }{}, `true required`, ""},
		{"own", struct{ F own }{}, `{"$ref":"#/$defs/own"} required`, ""},
		{"map", struct{ F map[string]int }{}, `{"additionalProperties":{"type":"integer"},"type":"object"} required`, `{"additionalProperties":{"type":"integer"},"type":["object","null"]} required`},
		{"slice", struct{ F []string }{}, `{"items":{"type":"string"},"type":"array"} required`, `{"items":{"type":"string"},"type":["array","null"]} required`},
		{"slices", struct{ F [][]string }{}, `{"items":{"items":{"type":"string"},"type":"array"},"type":"array"} required`, `{"items":{"items":{"type":"string"},"type":["array","null"]},"type":["array","null"]} required`},
		{"array", struct{ F [2]int8 }{}, `{"items":{"type":"integer"},"type":"array","maxItems":2,"minItems":2} required`, ""},
		{"uint8", struct{ F uint8 }{}, `{"type":"integer","minimum":0} required`, ""},
		{"named", struct{ F base }{}, `{"$ref":"#/$defs/base"} required`, ""},
		{"named pointer", struct{ F *base }{}, `{"$ref":"#/$defs/base"}`, `{"anyOf":[{"$ref":"#/$defs/base"},{"type":"null"}]} required`},
		{"described", struct {
			F *base `jsonschema_description:"d"`
		}{}, `{"$ref":"#/$defs/base","description":"d"}`, `{"anyOf":[{"$ref":"#/$defs/base"},{"type":"null"}],"description":"d"} required`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for dir, want := range map[direction]string{reads: tt.reads, writes: orElse(tt.write, tt.reads)} {
				raw, err := infer(reflect.TypeOf(tt.value), dir)
				if err != nil {
					t.Fatal(err)
				}
				var s struct {
					Properties map[string]json.RawMessage
					Required   []string
				}
				if err := json.Unmarshal(raw, &s); err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
				got := string(s.Properties["F"])
				if len(s.Required) > 0 {
					got += " required"
				}
				if !sameSchema(got, want) {
					t.Errorf("direction %d: got  %s\nwant %s", dir, got, want)
				}
			}
		})
	}
}

// sameSchema compares two "JSON required" lines without regard to the order of names.
func sameSchema(a, b string) bool {
	cutA, reqA := strings.CutSuffix(a, " required")
	cutB, reqB := strings.CutSuffix(b, " required")
	var x, y any
	if json.Unmarshal([]byte(cutA), &x) != nil || json.Unmarshal([]byte(cutB), &y) != nil {
		return false
	}
	return reqA == reqB && cmp.Equal(x, y)
}

func TestInferDocuments(t *testing.T) {
	type ordered struct {
		Zebra string `json:"zebra"`
		base
		Apple *struct {
			Deep int `json:"deep"`
		} `json:"apple"`
	}
	type embedded struct{ *base }
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		dir  direction
		want string
	}{
		{"property order, embedded, inline", reflect.TypeFor[ordered](), reads,
			`{"properties":{"zebra":{"type":"string"},"shared":{"type":"string"},"apple":{"properties":{"deep":{"type":"integer"}},"additionalProperties":false,"type":"object","required":["deep"]}},"additionalProperties":false,"type":"object","required":["zebra","shared"]}`},
		{"embedded pointer", reflect.TypeFor[embedded](), writes,
			`{"properties":{"shared":{"type":"string"}},"additionalProperties":false,"type":"object"}`},
		{"recursion refers to the root", reflect.TypeFor[node](), reads,
			`{"properties":{"name":{"type":"string"},"kids":{"items":{"$ref":"#"},"type":"array"}},"additionalProperties":false,"type":"object","required":["name"]}`},
		{"generic", reflect.TypeFor[page[base]](), reads,
			`{"$defs":{"base":{"properties":{"shared":{"type":"string"}},"additionalProperties":false,"type":"object","required":["shared"]}},"properties":{"items":{"items":{"$ref":"#/$defs/base"},"type":"array"},"next":{"$ref":"#"}},"additionalProperties":false,"type":"object","required":["items"]}`},
		{"generic in a field", reflect.TypeFor[struct {
			P page[netip.Addr] `json:"p"`
		}](), reads,
			`{"$defs":{"page_Addr":{"properties":{"items":{"items":{"type":"string"},"type":"array"},"next":{"$ref":"#/$defs/page_Addr"}},"additionalProperties":false,"type":"object","required":["items"]}},"properties":{"p":{"$ref":"#/$defs/page_Addr"}},"additionalProperties":false,"type":"object","required":["p"]}`},
		{"pointer root", reflect.TypeFor[*base](), reads,
			`{"properties":{"shared":{"type":"string"}},"additionalProperties":false,"type":"object","required":["shared"]}`},
		{"nothing", reflect.TypeFor[struct{}](), reads, `{"properties":{},"additionalProperties":false,"type":"object"}`},
		{"map root", reflect.TypeFor[map[string]int](), reads, `{"additionalProperties":{"type":"integer"},"type":"object"}`},
		{"scalar output", reflect.TypeFor[int](), writes, `{"type":"integer"}`},
		{"elements of an output", reflect.TypeFor[[]*base](), writes,
			`{"$defs":{"base":{"properties":{"shared":{"type":"string"}},"additionalProperties":false,"type":"object","required":["shared"]}},"items":{"anyOf":[{"$ref":"#/$defs/base"},{"type":"null"}]},"type":"array"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := infer(tt.typ, tt.dir)
			if err != nil {
				t.Fatal(err)
			}
			if string(raw) != tt.want {
				t.Errorf("got  %s\nwant %s", raw, tt.want)
			}
		})
	}
}

// Two types of one name in two packages are two definitions.
func TestInferNameClash(t *testing.T) {
	a := reflect.TypeFor[base]()
	b := func() reflect.Type {
		type base struct{ Other int }
		return reflect.TypeFor[base]()
	}()
	in := &inference{names: map[reflect.Type]string{}, taken: map[string]bool{}}
	if x, y, again := in.name(a), in.name(b), in.name(a); x != "base" || y != "base_2" || again != x {
		t.Errorf("names %q, %q, %q", x, y, again)
	}
}

// A comma that is escaped is one of the text, and every keyword of the reflector is known.
func TestInferTagsWithCommas(t *testing.T) {
	raw, err := infer(reflect.TypeFor[struct {
		A string `json:"a,omitempty" jsonschema:"required,description=a city\\, such as Berlin,minLength=1,oneof_required=x"`
	}](), reads)
	if err != nil || !strings.Contains(string(raw), `"a city, such as Berlin"`) || !strings.Contains(string(raw), `"minLength":1`) {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestInferRefuses(t *testing.T) {
	type deep struct {
		A []struct {
			B map[string]func() `json:"b/c"`
		} `json:"a"`
	}
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[deep](), "at /a/*/b~1c/*: type func() has no JSON form"},
		{reflect.TypeFor[struct{ C chan int }](), "at /C: type chan int has no JSON form"},
		{reflect.TypeFor[struct{ C complex128 }](), "at /C: type complex128 has no JSON form"},
		{reflect.TypeFor[struct{ M map[struct{ X int }]int }](), "at /M: type map[struct { X int }]int has keys that are no strings"},
		{reflect.TypeFor[struct{ U url.URL }](), "at /U: type url.URL is written by encoding/json as its parts"},
		{reflect.TypeFor[struct{ P **int }](), "at /P: type *int is a pointer to a pointer"},
		{reflect.TypeFor[struct {
			N int `jsonschema:"minimun=1"`
		}](), `at /N: tag jsonschema: "minimun=1" is no keyword`},
		{reflect.TypeFor[struct {
			In struct {
				C string `json:"c" jsonschema:"description=a city, such as Berlin"`
			}
		}](), `at /In/c: tag jsonschema: " such as Berlin" is no keyword; a comma within a value is written \\,`},
		{reflect.TypeFor[struct {
			N int `jsonschema:"minimum"`
		}](), `at /N: tag jsonschema: "minimum" wants a value: minimum=...`},
		{reflect.TypeFor[string](), "an input is a JSON object"},
		{reflect.TypeFor[[]base](), "an input is a JSON object"},
		{reflect.TypeFor[time.Time](), "an input is a JSON object"},
		{reflect.TypeFor[struct{ E io.Reader }](), "at /E: type io.Reader is an interface with methods"},
		{reflect.TypeFor[struct{ R ring }](), "at /R: type pluginsdk.ring embeds itself"},
		{reflect.TypeFor[panics](), "in the author's JSONSchema"},
	} {
		raw, err := infer(tt.typ, reads)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %s, %v, want %q", tt.typ, raw, err, tt.want)
		}
	}
}

type ring struct{ *Link }

// Link is exported, as an embedded field must be to count.
type Link struct{ *ring }

type panics struct{}

func (panics) JSONSchema() *jsonschema.Schema { panic("in the author's JSONSchema") }

func BenchmarkInfer(b *testing.B) {
	for b.Loop() {
		if _, err := infer(reflect.TypeFor[page[base]](), reads); err != nil {
			b.Fatal(err)
		}
	}
}
