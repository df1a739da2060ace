package schema

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolhost/toolhost/internal/cost"
)

var benchCases = []struct{ name, schema, input, broken string }{
	{"small", smallSchema, smallInput, `{"location":"","units":"kelvin","days":99}`},
	{"large", largeSchema, largeInput, strings.Replace(largeInput, `"status":"modified"`, `"status":"what"`, 1)},
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range benchCases {
		text := []byte(c.input)
		b.Run(c.name+"/engine", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonschema.UnmarshalJSON(bytes.NewReader(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, c := range benchCases {
		own, engine := mustCompile(b, c.schema), mustEngine(b, c.schema)
		for name, text := range map[string]string{"valid": c.input, "broken": c.broken} {
			d := mustParse(b, text)
			b.Run(c.name+"/"+name+"/engine", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_ = engine.Validate(d.Value())
				}
			})
			b.Run(c.name+"/"+name+"/ours", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_ = own.Validate(d)
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile([]byte(c.schema)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLinear shows that the time for a value does not grow with the document: ns/value stays as it is.
func BenchmarkLinear(b *testing.B) {
	s := mustCompile(b, `{"items":{"properties":{"a":{"default":1},"b":{"x-sensitive":true}},"patternProperties":{"^c":{"type":"string"}}},"uniqueItems":true}`)
	for _, n := range []int{1_000, 10_000, 100_000} {
		text := []byte(`[` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`{"b":%d,"b":%d,"c":"x"}`, i, i) }) + `]`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				d, err := Parse(text, Limits{Bytes: 32 << 20})
				if err != nil {
					b.Fatal(err)
				}
				s.FillDefaults(d)
				if err := s.Validate(d); err != nil {
					b.Fatal(err)
				}
				d.Bytes()
				s.Mask(d)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
		})
	}
}

// mustEngine compiles for the engine's own validation.
func mustEngine(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	s, err := compileEngine(mustParse(t, text).Value())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// BenchmarkRead shows that a valid input costs the same through Read as by its parts, to the allocation, and what repairs cost.
func BenchmarkRead(b *testing.B) {
	for _, c := range benchCases {
		s, text := mustCompile(b, c.schema), []byte(c.input)
		b.Run(c.name+"/parts", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := readByParts(s, text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Read(text, Limits{}, ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		stringified := appendString(nil, c.input)
		b.Run(c.name+"/whole-argument", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Read(stringified, Limits{}, ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		quoted := []byte(strings.ReplaceAll(c.input, `"`, `'`))
		b.Run(c.name+"/text", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Read(quoted, Limits{}, ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func readByParts(s *Schema, text []byte) error {
	d, err := Parse(text, Limits{})
	if err != nil {
		return err
	}
	s.FillDefaults(d)
	return s.Validate(d)
}

// A valid input allocates nothing more for the repairs it does not need.
func TestRead_ValidInputAllocatesNothingMore(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	for _, c := range benchCases {
		s, text := mustCompile(t, c.schema), []byte(c.input)
		parts := cost.Of(200, func() {
			if err := readByParts(s, text); err != nil {
				t.Fatal(err)
			}
		})
		read := cost.Of(200, func() {
			if _, _, err := s.Read(text, Limits{}, ReadOptions{}); err != nil {
				t.Fatal(err)
			}
		})
		if read.Allocs > parts.Allocs {
			t.Errorf("%s: %d allocations, by its parts %d", c.name, read.Allocs, parts.Allocs)
		}
	}
}
