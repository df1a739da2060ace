package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestR24_ALongLineIsSkippedAndTellsItsID(t *testing.T) {
	long := `{"x":"\"}{",` + `"y":[{"id":5}],"result":"` + strings.Repeat("z", 200<<10) + `","id" : "a b","w":{"id":6}}`
	in := newLines(strings.NewReader("one\n"+long+"\n\ntwo\nend"), 100<<10)
	var got []string
	for {
		line, err := in.next()
		if e, ok := errors.AsType[*tooLong](err); ok {
			got = append(got, "too long: "+string(e.id))
			if e.size != int64(len(long)) {
				t.Errorf("%d bytes, want %d", e.size, len(long))
			}
			continue
		}
		got = append(got, string(line))
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"one", `too long: "a b"`, "", "two", "end"}, got); diff != "" {
		t.Error(diff)
	}
	exact := strings.Repeat("x", 100)
	if line, err := newLines(strings.NewReader(exact+"\n"), 100).next(); err != nil || string(line) != exact {
		t.Errorf("a line of the limit: %v", err)
	}
}

// FuzzReader holds that no bytes of a server's make the reader panic, and that a line within the limit comes as it is.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"junk\n{\"id\":1,\"result\":{}}\n", `[{"method":"m"},{"id":"1","error":{"code":1e999}}]`, "{\"id\":\"\\\"\",\"x\":[{\"id\":2}]}\n",
		"\n\n", "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n", "{\"id\":{},\"method\":\"ping\",\"params\":7}\n", "\x00\xff\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		const limit = 64
		in := newLines(bytes.NewReader(raw), limit)
		var read [][]byte
		for {
			line, err := in.next()
			if e, ok := errors.AsType[*tooLong](err); ok {
				if e.size <= limit {
					t.Errorf("a line of %d bytes is too long", e.size)
				}
				continue
			}
			if len(line) > limit {
				t.Errorf("a line of %d bytes", len(line))
			}
			read = append(read, line)
			if list, err := decodeMessages(line); err == nil {
				for _, m := range list {
					if m.method == "" && m.err == nil && m.result == nil {
						t.Errorf("%q is a message of no kind", line)
					}
					_, _ = encodeAnswer(m.id, m.result, m.err)
				}
			}
			if err != nil {
				break
			}
		}
		for i, want := 0, bytes.Split(raw, []byte("\n")); i < len(want); i++ {
			if len(want[i]) <= limit && (len(read) == 0 || !bytes.Equal(read[0], want[i])) {
				t.Fatalf("line %d is lost or changed", i)
			} else if len(want[i]) <= limit {
				read = read[1:]
			}
		}
	})
}
