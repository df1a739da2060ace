package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestTimeouts(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "1n"}, {0, "1n"}, {1, "1n"}, {99_999_999, "99999999n"}, {100_000_000, "100000u"}, {100_000_001, "100001u"},
		{time.Hour, "3600000m"}, {1000 * time.Hour, "3600000S"}, {math.MaxInt64, "2562048H"}, {math.MaxInt64 - 1, "2562048H"},
		{math.MaxInt64 - time.Hour, "2562047H"},
	} {
		got := formatTimeout(tt.d)
		back, ok := parseTimeout(got)
		if tt.want != got || !ok || back < tt.d {
			t.Errorf("%v: %s, back %v, %t; want %s", tt.d, got, back, ok, tt.want)
		}
	}
	for d := time.Duration(1); d > 0 && d < math.MaxInt64/3; d = d*3 + 1 {
		if back, ok := parseTimeout(formatTimeout(d)); !ok || back < d || float64(back-d) > 1e-4*float64(d) && back-d > 1 {
			t.Errorf("%v: back %v, %t", d, back, ok)
		}
	}
	for _, s := range []string{"", "1", "n", "1x", "-1n", "+1n", "1_0n", "123456789n", "1 n", "1.5S"} {
		if d, ok := parseTimeout(s); ok {
			t.Errorf("%q: %v", s, d)
		}
	}
	if d, ok := parseTimeout("99999999H"); !ok || d != math.MaxInt64 {
		t.Errorf("the longest: %v, %t", d, ok)
	}
}

func TestPercent(t *testing.T) {
	for _, s := range []string{"", "plain", "100 %", "%41", "läuft ☃\n\x00", strings.Repeat("x", maxStatus)} {
		enc := encodePercent(s)
		for _, c := range []byte(enc) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q: %q is no header's", s, enc)
			}
		}
		if got := decodePercent(enc); got != s {
			t.Errorf("%q: %q, back %q", s, enc, got)
		}
	}
	long := decodePercent(encodePercent(strings.Repeat("☃", maxStatus)))
	if n := utf8.RuneCountInString(long); !strings.HasPrefix(strings.Repeat("☃", maxStatus), long) || n < maxStatus/10 || n > maxStatus {
		t.Errorf("a long one became one of %d characters, %q at the end", n, long[len(long)-4:])
	}
	for in, want := range map[string]string{"%": "%", "%4": "%4", "%4x": "%4x", "%zz1": "%zz1", "%ff": "�", "a%C3": "a�", "%+1": "%+1", encodePercent("a\xffb"): "a�b"} {
		if got := decodePercent(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestFieldsNeedNoTable: what is encoded here decodes without a table, and leaves none.
func TestFieldsNeedNoTable(t *testing.T) {
	pairs := []string{":method", "POST", ":path", "/a.B/c", "content-type", contentType, "grpc-timeout", "1S", "empty", ""}
	b := appendFields([]byte{noTable}, pairs...)
	var got []string
	dec := hpack.NewDecoder(0, func(f hpack.HeaderField) { got = append(got, f.Name, f.Value) })
	for range 2 { // in any state
		if _, err := dec.Write(b); err != nil || dec.Close() != nil {
			t.Fatal(err)
		}
	}
	if want := append(pairs, pairs...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatusPairs(t *testing.T) {
	for _, err := range []error{
		nil, status.Error(codes.Aborted, "grün"), status.Error(99, ""), errors.New("plain"),
		context.DeadlineExceeded, fmt.Errorf("wrapped: %w", status.Error(codes.DataLoss, "x")),
	} {
		if err != nil {
			err = asStatus(err)
		}
		pairs := statusPairs(err)
		f := fields{}
		for i := 0; i < len(pairs); i += 2 {
			f[pairs[i]] = pairs[i+1]
		}
		if got := f.outcome(); status.Code(got) != status.Code(err) || status.Convert(got).Message() != status.Convert(err).Message() {
			t.Errorf("%v: became %v", err, got)
		}
	}
}

func FuzzPercent(f *testing.F) {
	f.Add("läuft 100 %")
	f.Fuzz(func(t *testing.T, s string) {
		if got := decodePercent(encodePercent(s)); len(s) < maxStatus/3 && got != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q: back %q", s, got)
		}
		if got := decodePercent(s); !utf8.ValidString(got) {
			t.Errorf("%q: %q is no text", s, got)
		}
	})
}
