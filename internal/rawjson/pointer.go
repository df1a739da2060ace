package rawjson

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// Resolve returns what a reference within the schema points to; nil if it points to nothing here, or by an anchor or id.
func Resolve(root json.RawMessage, ref string) json.RawMessage {
	if ref == "#" {
		return root
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := root
	for token := range strings.SplitSeq(unescapeFragment(pointer), "/") {
		token = jsonpointer.Unescape(token)
		if list, isList := ParseArray(at); isList {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(list) {
				return nil
			}
			at = list[i]
			continue
		}
		o, _ := ParseObject(at)
		if at = o.Get(token); at == nil {
			return nil
		}
	}
	return at
}

// unescapeFragment undoes the percent escapes of a URI's fragment. What is none stays.
func unescapeFragment(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
