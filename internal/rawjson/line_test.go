package rawjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestR24_ALongLineIsSkippedAndTellsItsID(t *testing.T) {
	long := `{"x":"\"}{",` + `"y":[{"id":5}],"result":"` + strings.Repeat("z", 200<<10) + `","id" : "a b","w":{"id":6}}`
	in := NewLines(strings.NewReader("one\n"+long+"\n\ntwo\nend"), 100<<10)
	var got []string
	for {
		line, err := in.Next()
		if e, ok := errors.AsType[*TooLong](err); ok {
			got = append(got, "too long: "+string(e.ID))
			if e.Size != int64(len(long)) {
				t.Errorf("%d bytes, want %d", e.Size, len(long))
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
	if line, err := NewLines(strings.NewReader(exact+"\n"), 100).Next(); err != nil || string(line) != exact {
		t.Errorf("a line of the limit: %v", err)
	}
}

// FuzzR24_Lines holds that no bytes make the reader panic, and that a line within the limit comes as it is.
func FuzzR24_Lines(f *testing.F) {
	for _, seed := range []string{
		"junk\n{\"id\":1,\"result\":{}}\n", `[{"method":"m"},{"id":"1","error":{"code":1e999}}]`, "{\"id\":\"\\\"\",\"x\":[{\"id\":2}]}\n",
		"\n\n", "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n", "{\"id\":{},\"method\":\"ping\",\"params\":7}\n", "\x00\xff\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		const limit = 64
		in := NewLines(bytes.NewReader(raw), limit)
		var read [][]byte
		for {
			line, err := in.Next()
			if e, ok := errors.AsType[*TooLong](err); ok {
				if e.Size <= limit {
					t.Errorf("a line of %d bytes is too long", e.Size)
				}
				continue
			}
			if len(line) > limit {
				t.Errorf("a line of %d bytes", len(line))
			}
			read = append(read, line)
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
