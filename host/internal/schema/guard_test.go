package schema

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/cost"
)

// ceilings are what reading and checking may allocate. Raising one needs a line here that says why.
var ceilings = []struct {
	name string
	most cost.Ceiling
	do   func(t *testing.T) func()
}{
	{"an input", cost.Ceiling{Allocs: 1, Bytes: 112}, reads(smallSchema, smallInput)},        // its document
	{"a large input", cost.Ceiling{Allocs: 24, Bytes: 1120}, reads(largeSchema, largeInput)}, // decodes a union and a list whose items differ
	{"an output", cost.Ceiling{Allocs: 0, Bytes: 0}, checks(smallSchema, smallInput)},
	{"a large output", cost.Ceiling{Allocs: 23, Bytes: 1024}, checks(largeSchema, largeInput)},
	{"a MiB without a schema", cost.Ceiling{Allocs: 0, Bytes: 0}, checks("", `{"text":"`+strings.Repeat("x", 1<<20)+`\n"}`)},
	{"what is decoded", cost.Ceiling{Allocs: 6, Bytes: 496}, func(t *testing.T) func() {
		s, text := mustCompile(t, smallSchema), []byte(smallInput)
		return func() {
			if d, err := Parse(text, Limits{}); err != nil || s.Validate(d) != nil {
				t.Fatal(err)
			}
		}
	}},
}

func reads(schema, input string) func(*testing.T) func() {
	return func(t *testing.T) func() {
		s, text := mustCompile(t, schema), []byte(input)
		return func() {
			if _, _, err := s.Read(text, Limits{}, ReadOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func checks(schema, output string) func(*testing.T) func() {
	return func(t *testing.T) func() {
		s, text := mustCompile(t, schema), []byte(output)
		return func() {
			if !s.Valid(text, Limits{Bytes: 2 << 20}) {
				t.Fatal("not valid")
			}
		}
	}
}

func TestGuard_ReadingAllocates(t *testing.T) {
	for _, c := range ceilings {
		t.Run(c.name, func(t *testing.T) { cost.Hold(t, c.most, c.do(t)) })
	}
}
