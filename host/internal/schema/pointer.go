package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// lookup finds a value by its JSON Pointer; nil if there is none.
func lookup(v any, pointer string) any {
	for _, tok := range strings.Split(pointer, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			v = in[unescapeToken(tok)]
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

// escapeToken makes a member's name a reference token.
func escapeToken(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescapeToken(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// unescapeFragment decodes the fragment of a URL; one that is not well-formed stays as it is.
func unescapeFragment(fragment string) string {
	if decoded, err := url.PathUnescape(fragment); err == nil {
		return decoded
	}
	return fragment
}
