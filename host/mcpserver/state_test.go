package mcpserver

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// FuzzR43_State holds that no requestState opens but one that was made here, and that no request ends anything.
func FuzzR43_State(f *testing.F) {
	s, err := newSealer(nil)
	if err != nil {
		f.Fatal(err)
	}
	to := request{name: "x", caller: host.Caller{Channel: channelHTTP, Subject: "ann"}}
	good, err := s.seal(ticket{Flight: "f", Expires: time.Now().Add(time.Hour).Unix()}, bound(to))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-1], []byte(`{"a":1}`), []byte(`{"progressToken":"x"}`))
	f.Add("", []byte(`{`), []byte(`[]`))
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAA", []byte(`{"a":[[[[]]]]}`), []byte(`{"traceparent":7}`))
	f.Fuzz(func(t *testing.T, state string, arguments, raw []byte) {
		if got, err := s.open(state, bound(to), time.Now()); err == nil && state != good {
			t.Fatalf("%q opened as %+v", state, got)
		}
		r := to
		r.arguments = arguments
		if one, two := bound(r), bound(r); string(one) != string(two) {
			t.Fatal("one request is bound in two ways")
		}
		m := readMeta(raw)
		if tok := m.token(); tok != nil && !json.Valid(tok) {
			t.Errorf("the token %q", tok)
		}
		if c := m.context([]string{"a", "b"}); c != nil && !json.Valid(c) {
			t.Errorf("the context %q", c)
		}
		m.trace()
	})
}
