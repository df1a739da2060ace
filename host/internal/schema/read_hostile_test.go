//go:build unix

package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Hostile inputs of up to 1 MiB take bounded time, whatever repairs they ask for. Times are CPU time, the best of up to three.
func TestRead_HostileInputs(t *testing.T) {
	size := 1 << 20
	if raceEnabled {
		size >>= 3
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	list := func(item string) string { return "[" + strings.Repeat(item+",", size/(len(item)+1)-1) + item + "]" }
	tree := `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"type":"integer"},{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"additionalProperties":false},{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"c":{"$ref":"#/$defs/n"}},"additionalProperties":false},{"type":"array","items":{"$ref":"#/$defs/n"}}]}}}`
	chain := func(n int, leaf string) string {
		return strings.Repeat(`{"a":`, n) + leaf + strings.Repeat(`}`, n)
	}
	layered := func(n int) string {
		text := `[1]`
		for range n {
			text = string(appendString(nil, text))
		}
		return text
	}
	limit := 1200 * time.Millisecond
	if raceEnabled {
		limit *= 12
	}
	for _, c := range []struct{ name, schema, text string }{
		{"open braces", "", fill("{")},
		{"open brackets and a quote", "", fill("[") + "'"},
		{"single quotes", "", fill("'")},
		{"commas", "", "[" + fill(",")},
		{"trailing commas", "", fill("[1,],")},
		{"bare names", "", "{" + fill("a:1,")},
		{"one long bare name", "", "{" + fill("a")},
		{"control tokens", "", fill("<|x|>") + "{a:1}"},
		{"half control tokens", "", "{" + fill("<|")},
		{"half dates", "", "[" + fill("2026-01-02,")},
		{"control characters", "", `{'a':"` + fill("\x01")[:size/8] + `"}`},
		{"white space after commas", "", "[1," + fill(" ") + "]"},
		{"backticks", "", fill("`")},
		{"escapes", "", `['` + fill(`\'`)},
		{"many numbers", `{"items":{"type":"integer"}}`, list(`"1"`)},
		{"many nulls", `{"items":{"properties":{"a":{"type":"integer"}}}}`, list(`{"a":null}`)},
		{"many forbidden nulls", `{"additionalProperties":false}`, "{" + repeat(90_000, ",", func(i int) string { return fmt.Sprintf(`"k%d":null`, i) }) + "}"},
		{"many strings that are no arrays", `{"items":{"type":"array"}}`, list(`"[1,2"`)},
		{"one long string that is no array", `{"type":"array"}`, `"[` + fill("1,")[:size-10] + `"`},
		{"one long string in a union", `{"items":{"anyOf":[` + repeat(50, ",", func(i int) string { return fmt.Sprintf(`{"type":"array","minItems":%d}`, i) }) + `]}}`, `["[` + fill("1,")[:size-20] + `1]"]`},
		{"layers of strings", `{"items":{"type":"array"}}`, "[" + layered(16) + "]"},
		{"strings in strings", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`, "[" + layered(16) + "]"},
		{"deep unions", tree, chain(190, `"x"`)},
		{"deep unions that could be repaired", tree, chain(190, `"1"`)},
		{"wide unions", tree, list(chain(9, `"1"`))},
		{"unions below unions", `{"items":` + strings.Repeat(`{"anyOf":[{"type":"object","properties":{"a":`, 8) + `{"type":"integer"}` + strings.Repeat(`}},{"type":"array"}]}`, 8) + `}`, list(chain(8, `"x"`))},
		{"deep repairs", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/m"}},"m":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"integer"}]}}}`, strings.Repeat("[", 190) + list(`"1"`)[1:] + strings.Repeat("]", 189)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s *Schema
			if c.schema != "" {
				s = mustCompile(t, c.schema)
			}
			best := time.Hour
			var err error
			for try := 0; try < 3 && best > limit; try++ {
				start := cpuTime(t)
				_, _, err = s.Read([]byte(c.text), Limits{Bytes: 2 << 20}, ReadOptions{})
				best = min(best, cpuTime(t)-start)
			}
			if best > limit {
				t.Errorf("took %v: %v", best, err)
			}
			if err != nil && len(err.Error()) > 20<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}
