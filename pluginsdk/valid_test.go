package pluginsdk

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzValidJSON holds that validJSON is json.Valid.
func FuzzValidJSON(f *testing.F) {
	for _, text := range []string{
		``, ` `, `{}`, `[]`, `[1,2]`, `{"a":{"b":[{},[],"x"]}}`, `{"a":1,}`, `[1,]`, `{,}`, `[}`, `{"a"}`, `{"a":}`, `"\u00e9\n"`, `"\u00g0"`, "\"\xff\"", "\"\n\"",
		`-0`, `01`, `1.`, `1.5e+3`, `1e`, `-`, `truE`, `true`, `null false`, `[[[[]]]]`, `[[[]]`, `"`, `"\`, ` [ 1 , { "a" : null } ] `,
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
		strings.Repeat("[", 10000) + "{}" + strings.Repeat("]", 10000), strings.Repeat(`{"a":`, 9999) + "[1]" + strings.Repeat("}", 9999),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := validJSON(data), json.Valid(data); got != want {
			t.Errorf("%.80q: %v, json.Valid says %v", data, got, want)
		}
	})
}
