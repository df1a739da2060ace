package main

import (
	"strings"
	"testing"
)

func TestDecodeMessages(t *testing.T) {
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`:            "answer",
		`  {"id":"1","error":{"code":-5,"message":"x"}} `:      "error",
		`{"id":1,"error":"odd"}`:                               "error",
		`{"method":"m"}`:                                       "notification",
		`{"method":"m","id":null}`:                             "notification",
		`{"id":[1],"method":"m"}`:                              "request",
		`[{"id":1,"result":1},{"x":1},null,{"method":"m"}]`:    "answer notification",
		"\xef\xbb\xbf" + `{"id":1,"result":null,"error":null}`: "answer",
		`{"ID":1,"RESULT":1}`:                                  "junk",
		`{"level":"info","msg":"id"}`:                          "junk",
		`{"id":1}`:                                             "junk",
		`{"method":5,"id":1}`:                                  "junk",
		`[]`:                                                   "junk", `[1]`: "junk", ``: "junk", `17`: "junk", `{"id":1,"result":1}{`: "junk", `nul`: "junk",
	} {
		list, err := decodeMessages([]byte(raw))
		var kinds []string
		for _, m := range list {
			switch {
			case m.method != "" && m.id != nil:
				kinds = append(kinds, "request")
			case m.method != "":
				kinds = append(kinds, "notification")
			case m.err != nil:
				kinds = append(kinds, "error")
			default:
				kinds = append(kinds, "answer")
			}
		}
		if err != nil {
			kinds = append(kinds, "junk")
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// FuzzMessages holds that no bytes of a server's make the reader panic, and that it knows the kind of each message.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		"junk", `{"id":1,"result":{}}`, `[{"method":"m"},{"id":"1","error":{"code":1e999}}]`, `{"id":"\"","x":[{"id":2}]}`,
		"", `{"method":"notifications/progress","params":{"progressToken":1}}`, `{"id":{},"method":"ping","params":7}`, "\x00\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := decodeMessages(raw)
		if err != nil {
			return
		}
		for _, m := range list {
			if m.method == "" && m.err == nil && m.result == nil {
				t.Errorf("%q is a message of no kind", raw)
			}
			encodeAnswer(m.id, m.result, m.err)
		}
	})
}
