package schema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// lookup finds a value by its JSON Pointer; nil if there is none.
func lookup(v any, pointer string) any {
	for _, tok := range strings.Split(pointer, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			v = in[jsonpointer.Unescape(tok)]
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// unescapeFragment decodes the fragment of a URL; one that is not well-formed stays as it is.
func unescapeFragment(fragment string) string {
	if decoded, err := url.PathUnescape(fragment); err == nil {
		return decoded
	}
	return fragment
}
