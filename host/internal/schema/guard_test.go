package schema

import (
	"runtime"
	"strings"
	"testing"
)

// ceilings are what reading and checking may allocate. Raising one needs a line here that says why.
var ceilings = []struct {
	name   string
	allocs float64
	bytes  uint64
	do     func(t *testing.T) func()
}{
	{"an input", 1, 96, reads(smallSchema, smallInput)},         // its document
	{"a large input", 26, 1264, reads(largeSchema, largeInput)}, // decodes a union and a list whose items differ
	{"an output", 0, 0, checks(smallSchema, smallInput)},
	{"a large output", 25, 1168, checks(largeSchema, largeInput)},
	{"a MiB without a schema", 0, 0, checks("", `{"text":"`+strings.Repeat("x", 1<<20)+`\n"}`)},
	{"what is decoded", 7, 560, func(t *testing.T) func() {
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

// slack is for what the pool is filled with anew after a garbage collection.
const slack = 16

func TestGuard_ReadingAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, c := range ceilings {
		t.Run(c.name, func(t *testing.T) {
			f := c.do(t)
			const runs = 1000
			var before, after runtime.MemStats
			f() // fills the pool
			runtime.ReadMemStats(&before)
			allocs := testing.AllocsPerRun(runs, f)
			runtime.ReadMemStats(&after)
			bytes := (after.TotalAlloc - before.TotalAlloc) / (runs + 1)
			if allocs > c.allocs || bytes > c.bytes+slack {
				t.Errorf("%.0f allocations and %d bytes; the ceilings are %.0f and %d", allocs, bytes, c.allocs, c.bytes)
			}
		})
	}
}
