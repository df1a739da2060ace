package fetch

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decodeText is the body as valid UTF-8 and the name of the set it was read in: override, else byte order
// mark, else the header, else a meta element, else UTF-8 if the whole body is, else windows-1252. Broken
// sequences become U+FFFD; a byte order mark is dropped.
func decodeText(b []byte, contentType, override string) (text, name string, err error) {
	e, name, certain := charset.DetermineEncoding(b, contentType)
	switch {
	case override != "":
		if e, name = charset.Lookup(override); e == nil {
			return "", "", fmt.Errorf("charset %q is not known", override)
		}
	case !certain && utf8.Valid(b) && !isEscaped(name):
		e, name = encoding.Nop, "utf-8"
	}
	if name != "utf-8" {
		if b, err = e.NewDecoder().Bytes(b); err != nil {
			return "", "", fmt.Errorf("the body cannot be read as %s: %w", name, err)
		}
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	return strings.ToValidUTF8(string(b), "\ufffd"), name, nil
}

// isEscaped tells sets whose text is valid ASCII although it means something else.
func isEscaped(name string) bool { return name == "iso-2022-jp" || name == "replacement" }
