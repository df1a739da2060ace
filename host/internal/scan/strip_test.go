package scan

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/cost"
)

func TestT17_StripJSON(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		count    int
	}{
		"ascii":                    {`{"a":"b\n\"\\"}`, `{"a":"b\n\"\\"}`, 0},
		"letters":                  {`"naïve 漢字 \u00e9"`, `"naïve 漢字 \u00e9"`, 0},
		"tags":                     {"\"a\U000e0041\U000e0042b\"", `"ab"`, 2},
		"escaped tags":             {`"a\udb40\udc41\uDB40\uDC42b"`, `"ab"`, 2},
		"zero width":               {"\"a\u200b\u2060\ufeffb\"", `"ab"`, 3},
		"escaped zero width":       {`"a\u200B\\u200b"`, `"a\\u200b"`, 1},
		"bidi":                     {"\"\u202ea\u2066b\u200f\"", `"ab"`, 3},
		"keys":                     {"{\"k\u200b\":{\"\u202el\":1}}", `{"k":{"l":1}}`, 2},
		"emoji with style":         {"\"❤\ufe0f ☎\ufe0e\"", "\"❤\ufe0f ☎\ufe0e\"", 0},
		"escaped emoji":            {`"\u2764\ufe0f \ud83d\udc69\u200d\ud83d\udc67"`, `"\u2764\ufe0f \ud83d\udc69\u200d\ud83d\udc67"`, 0},
		"family":                   {"\"👩\u200d👩\u200d👧\"", "\"👩\u200d👩\u200d👧\"", 0},
		"skin and profession":      {"\"👩🏽\u200d🚀 🏃🏿\u200d♀\ufe0f\"", "\"👩🏽\u200d🚀 🏃🏿\u200d♀\ufe0f\"", 0},
		"heart on fire":            {"\"❤\ufe0f\u200d🔥\"", "\"❤\ufe0f\u200d🔥\"", 0},
		"keycap":                   {"\"1\ufe0f\u20e3 #\ufe0f\u20e3 1\ufe0f\"", "\"1\ufe0f\u20e3 #\ufe0f\u20e3 1\"", 1},
		"flags":                    {"\"🇩🇪🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\"", "\"🇩🇪🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\"", 0},
		"flag of another word":     {"\"🏴\U000e0068\U000e0069\U000e007f\"", `"🏴"`, 3},
		"flag and more":            {"\"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\U000e0061\"", "\"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\"", 1},
		"selectors on a letter":    {"\"a\ufe0f\U000e0101\"", `"a"`, 2},
		"selectors on an emoji":    {"\"👍\ufe0f\ufe0f\ufe01\"", "\"👍\ufe0f\"", 2},
		"joiner between letters":   {"\"a\u200db\u200cc\"", `"abc"`, 2},
		"joiner at the end":        {"\"👍\u200d\"", `"👍"`, 1},
		"two joiners":              {"\"👩\u200d\u200d👧\"", "\"👩\u200d👧\"", 1},
		"Persian":                  {"\"می\u200cکند\"", "\"می\u200cکند\"", 0},
		"Persian, too many":        {"\"می\u200c\u200cکند\"", "\"می\u200cکند\"", 1},
		"Sinhala":                  {"\"ශ්\u200dරී\"", "\"ශ්\u200dරී\"", 0},
		"Hebrew with a mark":       {"\"שלום\u200f!\"", `"שלום!"`, 1},
		"lone surrogate":           {`"\ud83d\u200b\udc4d"`, `"\ud83d\udc4d"`, 1},
		"outside of strings":       {" [1 , true,\t\"é\" ]", " [1 , true,\t\"é\" ]", 0},
		"what looks like an end":   {`"\"` + "\u200b" + `\\"`, `"\"\\"`, 1},
		"text that is cut short":   {"\"a\u200b", `"a`, 1},
		"escape that is cut short": {"\"é\\u20", "\"é\\u20", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, n := StripJSON([]byte(c.in))
			if string(got) != c.want || n != c.count {
				t.Errorf("got %q and %d, want %q and %d", got, n, c.want, c.count)
			}
		})
	}
}

// TestT17_StripJSON_Random strips random texts: JSON stays JSON, a second time finds nothing, what was given is not
// changed, and raw and escaped texts lose the same.
func TestT17_StripJSON_Random(t *testing.T) {
	alphabet := []rune{'a', '1', '"', '\\', '\n', 'é', 'ک', '❤', '👩', '🏽', '🏴', 0x20e3, 0x200b, 0x200c, 0x200d, 0xfe0e, 0xfe0f, 0xfe00,
		0x202e, 0xfeff, 0xe0067, 0xe0062, 0xe0065, 0xe006e, 0xe007f, 0x180b}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b, escapes strings.Builder
		for range r.IntN(12) {
			c := alphabet[r.IntN(len(alphabet))]
			b.WriteRune(c)
			escapes.WriteString(asEscape(c))
		}
		in, err := json.Marshal(b.String())
		if err != nil {
			t.Fatal(err)
		}
		was := string(in)
		out, n := StripJSON(in)
		if string(in) != was {
			t.Fatalf("%q was changed to %q", was, in)
		}
		again, m := StripJSON(out)
		if !json.Valid(out) || m != 0 || string(again) != string(out) {
			t.Fatalf("%q: %q, and again %q", in, out, again)
		}
		esc, k := StripJSON([]byte(`"` + escapes.String() + `"`))
		var one, other string
		if json.Unmarshal(out, &one) != nil || json.Unmarshal(esc, &other) != nil || one != other || n != k {
			t.Fatalf("%q: %d in %q, escaped %d in %q", in, n, out, k, esc)
		}
	}
}

func asEscape(r rune) string {
	b, err := json.Marshal(string(utf16s(r)))
	if err != nil {
		return ""
	}
	return strings.Trim(strings.ReplaceAll(string(b), `\\u`, `\u`), `"`)
}

// utf16s writes r as \uXXXX, once or twice.
func utf16s(r rune) string {
	const digits = "0123456789abcdef"
	units := []rune{r}
	if r > 0xffff {
		units = []rune{0xd800 + (r-0x10000)>>10, 0xdc00 + (r-0x10000)&0x3ff}
	}
	var s strings.Builder
	for _, u := range units {
		s.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			s.WriteByte(digits[u>>shift&15])
		}
	}
	return s.String()
}

func TestT17_ASCIICostsNoAllocation(t *testing.T) {
	ascii := []byte(`{"a":"` + strings.Repeat("x", 1<<16) + `"}`)
	emoji := []byte(`{"a":"` + strings.Repeat("❤\ufe0fé", 1<<10) + `"}`)
	for name, text := range map[string][]byte{"ascii": ascii, "nothing hidden": emoji} {
		if n := cost.Of(20, func() { StripJSON(text) }).Allocs; n != 0 {
			t.Errorf("%s: %d allocations", name, n)
		}
	}
}

func BenchmarkStripJSON_ASCII(b *testing.B) {
	text := []byte(`{"a":"` + strings.Repeat("x", 1<<16) + `"}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		StripJSON(text)
	}
}

func BenchmarkScan(b *testing.B) {
	text := []byte(strings.Join(harmless, "\n"))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Scan([]Part{{Path: "/description", Text: text}})
	}
}
