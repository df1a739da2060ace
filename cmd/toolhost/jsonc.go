package main

import "bytes"

// plainJSON turns JSON as editors write it into JSON: comments and commas before a closing bracket become blanks, and a byte order
// mark goes. Lines and columns stay. Text that is neither is left to the JSON parser.
func plainJSON(text []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(text, []byte("\ufeff")))
	comma := -1 // of the last comma, while only blanks and comments follow
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i, comma = endOfString(out, i), -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := endOfComment(out, i)
			for ; i < end; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// endOfString returns the place of the quote that ends the string at i, or of the last byte.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text)-1)
}

// endOfComment returns the place behind the comment at i.
func endOfComment(text []byte, i int) int {
	end, length := "\n", 0
	if text[i+1] == '*' {
		end, length = "*/", 2
	}
	if n := bytes.Index(text[i+2:], []byte(end)); n >= 0 {
		return i + 2 + n + length
	}
	return len(text)
}
