package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Eight times the document takes about eight times as long, never sixty-four: for every shape that could be
// quadratic.
func TestLinear(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own costs are not linear")
	}
	for _, c := range []struct {
		name, schema string
		input        func(n int) string
	}{
		{"items with defaults, secrets and repeated names", `{"items":{"properties":{"a":{"default":1},"b":{"x-sensitive":true}}},"uniqueItems":true}`, func(n int) string {
			return `[` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`{"b":%d,"b":%d}`, i, i+1) }) + `]`
		}},
		{"one wide object", `{"additionalProperties":{"type":"integer"},"propertyNames":{"minLength":1},"unevaluatedProperties":false}`, func(n int) string {
			return `{` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`"k%d":%d`, i, i) }) + `}`
		}},
		{"one name again and again", `{"properties":{"z":{"default":1}}}`, func(n int) string {
			return `{` + repeat(n, ",", func(i int) string { return `"k":1` }) + `}`
		}},
		{"deep branches side by side", `{"$defs":{"d":{"properties":{"v":{"default":1},"x":{"$ref":"#/$defs/d"}}}},"items":{"$ref":"#/$defs/d"}}`, func(n int) string {
			return `[` + repeat(n/64, ",", func(int) string { return strings.Repeat(`{"x":`, 64) + `{}` + strings.Repeat(`}`, 64) }) + `]`
		}},
		{"one long string with escapes", `{"maxLength":99999999,"format":"uri-reference","pattern":"^."}`, func(n int) string {
			return `"` + strings.Repeat(`a\u0061\n`, n) + `"`
		}},
		{"unions", `{"items":{"oneOf":[{"properties":{"t":{"const":1}},"required":["t"]},{"properties":{"t":{"const":2}},"required":["t"]}]}}`, func(n int) string {
			return `[` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`{"t":%d}`, 1+i%2) }) + `]`
		}},
		{"equal hashes have equal numbers", `{"uniqueItems":true}`, func(n int) string {
			return `[` + repeat(n, ",", func(i int) string { return fmt.Sprintf(`%d.%d`, i, i+1) }) + `]`
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			run := func(text string) time.Duration {
				best := time.Hour
				for range 3 {
					start := time.Now()
					d, err := Parse([]byte(text), Limits{Bytes: 32 << 20})
					if err != nil {
						t.Fatal(err)
					}
					s.FillDefaults(d)
					_ = s.Validate(d)
					d.Bytes()
					s.Mask(d)
					best = min(best, time.Since(start))
				}
				return best
			}
			small, large := run(c.input(4_000)), run(c.input(32_000))
			if large > 30*small+100*time.Millisecond {
				t.Errorf("%v for 4,000, %v for 32,000", small, large)
			}
		})
	}
}
