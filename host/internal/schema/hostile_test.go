//go:build unix

package schema

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostileSchemas are built to cost far more than their size. A refusal names a word of the reason; "" means
// it may load.
var hostileSchemas = []struct{ name, text, refused string }{
	{"T2 doubling allOf", `{"$defs":{` + repeat(22, ",", func(i int) string {
		return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}) + `,"d22":{}},"$ref":"#/$defs/d0"}`, "schema nodes apply at one place"},
	{"T2 doubling anyOf", `{"$defs":{` + repeat(22, ",", func(i int) string {
		return fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}) + `,"d22":{}},"$ref":"#/$defs/d0"}`, "schema nodes apply at one place"},
	{"T2 doubling if then", `{"$defs":{` + repeat(22, ",", func(i int) string {
		return fmt.Sprintf(`"d%d":{"if":{"$ref":"#/$defs/d%d"},"then":{"$ref":"#/$defs/d%d"}}`, i, i+1, i+1)
	}) + `,"d22":{}},"$ref":"#/$defs/d0"}`, "schema nodes apply at one place"},
	{"T2 doubling dependentSchemas", `{"$defs":{` + repeat(22, ",", func(i int) string {
		return fmt.Sprintf(`"d%d":{"dependentSchemas":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
	}) + `,"d22":{}},"$ref":"#/$defs/d0"}`, "schema nodes apply at one place"},
	{"T2 self reference", `{"$ref":"#"}`, "without end"},
	{"T2 mutual reference", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, "without end"},
	{"T2 not of itself", `{"not":{"$ref":"#"}}`, "without end"},
	{"T2 dynamic reference to itself", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, "without end"},
	{"T2 1000 references to one", `{"$defs":{"a":{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}},"properties":{` + repeat(998, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/a"}`, i)
	}) + `}}`, ""},
	{"T3 1001 references", `{"$defs":{"a":{}},"properties":{` + repeat(1001, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/a"}`, i)
	}) + `}}`, "references in a schema"},
	{"T3 references to a place that is no keyword", `{"components":{` + repeat(900, ",", func(i int) string {
		return fmt.Sprintf(`"c%d":{"type":"object"}`, i)
	}) + `},"properties":{` + repeat(900, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"$ref":"#/components/c%d"}`, i, i)
	}) + `}}`, "references to places outside"},
	{"T3 chain of references", `{"$defs":{` + repeat(900, ",", func(i int) string {
		return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
	}) + `,"d900":{}},"$ref":"#/$defs/d0"}`, ""},
	{"T3 nested not", strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat(`}`, 1000), "levels of nesting"},
	{"T3 nested not, as deep as allowed", strings.Repeat(`{"not":`, 63) + `{"type":"null"}` + strings.Repeat(`}`, 63), ""},
	{"T3 nested items", strings.Repeat(`{"items":`, 4000) + `{}` + strings.Repeat(`}`, 4000), "levels of nesting"},
	{"T3 257 KiB", `{"description":"` + strings.Repeat("x", 257<<10) + `"}`, "bytes of text"},
	{"T3 description over 8 KiB", `{"description":"` + strings.Repeat("x", 8<<10+1) + `"}`, "bytes in a description"},
	{"T3 title over 4 KiB", `{"title":"` + strings.Repeat("x", 4<<10+1) + `"}`, "bytes in a string"},
	{"T3 name over 4 KiB", `{"properties":{"` + strings.Repeat("x", 4<<10+1) + `":{}}}`, "bytes in a member name"},
	{"T3 20,000 nodes", `{"properties":{` + repeat(10000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, "values"},
	{"T3 9,900 empty schemas", `{"properties":{` + repeat(9900, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, "subschemas"},
	{"T3 1,490 typed schemas", `{"properties":{` + repeat(1490, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`, ""},
	{"T3 1,000 ids", `{"$defs":{` + repeat(1000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"x%d"}`, i, i) }) + `}}`, "ids and anchors"},
	{"T3 1,000 anchors", `{"$defs":{` + repeat(1000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$anchor":"x%d"}`, i, i) }) + `}}`, "ids and anchors"},
	{"T3 30 odd places with 1,400 schemas", `{"components":{` + repeat(30, ",", func(i int) string {
		return fmt.Sprintf(`"c%d":{"properties":{`, i) + repeat(45, ",", func(j int) string { return fmt.Sprintf(`"q%d":{}`, j) }) + `}}`
	}) + `},"properties":{` + repeat(30, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"$ref":"#/components/c%d"}`, i, i)
	}) + `}}`, ""},
	{"T3 200 ids with 1,400 schemas", `{"$defs":{` + repeat(200, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"x%d"}`, i, i) }) + `},"properties":{` +
		repeat(1250, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, ""},
	{"T3 long names nested", strings.Repeat(`{"properties":{"`+strings.Repeat("n", 4000)+`":`, 30) + `{"properties":{` +
		repeat(1000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}` + strings.Repeat(`}}`, 30), "bytes in the paths"},
	{"T3 501 enum values", `{"enum":[` + repeat(501, ",", func(i int) string { return fmt.Sprint(i) }) + `]}`, "values in an enum"},
	{"T3 1,490 invalid schemas", `{"properties":{` + repeat(1490, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"type":5}`, i) }) + `}}`, "not valid JSON Schema"},
	{"T4 pattern of 2 KiB", `{"pattern":"` + strings.Repeat("a", 2<<10) + `"}`, "bytes in a pattern"},
	{"T4 nested repetition", `{"pattern":"((((a{0,30}){0,30}){0,30}){0,30}){0,30}b"}`, ""},
	{"T4 wide repetition", `{"pattern":"(abcdefghij){0,900}"}`, "instructions"},
	{"T4 1,000 dots", `{"pattern":"^(.*){1000}$"}`, "instructions"},
	{"T4 many patterns", `{"properties":{` + repeat(400, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"pattern":"^(x%d|[a-z]{0,300}|[0-9]{0,300})$"}`, i, i)
	}) + `}}`, "instructions in the patterns"},
	{"T4 many property patterns", `{"patternProperties":{` + repeat(400, ",", func(i int) string {
		return fmt.Sprintf(`"^(x%d|[a-z]{0,300}|[0-9]{0,300})$":{}`, i)
	}) + `}}`, "instructions in the patterns"},
	{"T4 broken pattern", `{"pattern":"(["}`, "pattern"},
	{"T1 multipleOf", `{"multipleOf":1e10000000}`, "in an exponent"},
	{"T1 minimum", `{"minimum":1e-10000000}`, "in an exponent"},
	{"T1 minLength", `{"minLength":1e400}`, ""},
	{"T1 500 digits", `{"maximum":` + strings.Repeat("9", 500) + `}`, "digits in a number"},
	{"default without end", `{"properties":{"a":{"$ref":"#","default":{}}}}`, "without end"},
	{"remote reference", `{"$ref":"https://example.com/x.json"}`, "remote reference"},
	{"remote file", `{"$ref":"file:///etc/passwd"}`, "remote reference"},
	{"remote by id", `{"$id":"https://example.com/a.json","$ref":"b.json"}`, "remote reference"},
	{"remote meta-schema", `{"$ref":"http://json-schema.org/draft-07/schema#"}`, "remote reference"},
	{"unknown dialect", `{"$schema":"https://example.com/dialect"}`, "unknown dialect"},
	{"dangling reference", `{"$ref":"#/$defs/none"}`, "not found"},
	{"dynamic reference across resources", `{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"},"b":{"$id":"x"}},"properties":{"b":{"$ref":"x"}}}`, "$dynamicRef"},
	{"number", `5`, "not valid JSON Schema"},
}

// ordinarySchema is one that somebody may well write.
var ordinarySchema = `{"properties":{` + repeat(500, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","minLength":1}`, i) }) + `}}`

// The budget is 32 MiB and eight times what an ordinary schema of 500 properties takes, which is less than 100 ms; the worst takes
// three times as much. Time is counted in CPU time of the process, the best of up to ten, as the machine may be busy, or slow.
func TestT2T3T4_HostileSchemas(t *testing.T) {
	ordinary := time.Hour
	for range 10 {
		runtime.GC()
		start := cpuTime(t)
		if _, err := Compile([]byte(ordinarySchema)); err != nil {
			t.Fatal(err)
		}
		ordinary = min(ordinary, cpuTime(t)-start)
	}
	limit := 8*ordinary + time.Millisecond
	for _, c := range hostileSchemas {
		t.Run(c.name, func(t *testing.T) {
			var err error
			best, allocated := time.Hour, uint64(0)
			for try := 0; try < 10 && best > limit; try++ {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				start := cpuTime(t)
				_, err = Compile([]byte(c.text))
				best = min(best, cpuTime(t)-start)
				runtime.ReadMemStats(&after)
				allocated = after.TotalAlloc - before.TotalAlloc
			}
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want an error with %q", err, c.refused)
			}
			if best > limit || allocated > 32<<20 {
				t.Errorf("took %v and %d KiB, want at most %v and 32 MiB", best, allocated>>10, limit)
			}
			if err != nil && len(err.Error()) > 2<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
