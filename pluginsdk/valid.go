package pluginsdk

import "github.com/toolhost/toolhost/internal/plain"

// maxDepth is encoding/json's limit of nesting.
const maxDepth = 10000

// validJSON is json.Valid, some times as fast: outputs that are passed on byte for byte may be large.
func validJSON(data []byte) bool {
	var objects []bool // of the open containers, whether they are objects
	i := skipSpace(data, 0)
	for {
		if i = startValue(data, i, &objects); i < 0 {
			return false
		}
		for { // after a value, or at the beginning of an empty container
			i = skipSpace(data, i)
			if len(objects) == 0 {
				return i == len(data)
			}
			if i == len(data) {
				return false
			}
			object, c := objects[len(objects)-1], data[i]
			i++
			if c == '}' && object || c == ']' && !object {
				objects = objects[:len(objects)-1]
				continue
			}
			if c != ',' {
				return false
			}
			if i = skipSpace(data, i); object {
				if i = skipName(data, i); i < 0 {
					return false
				}
			}
			break
		}
	}
}

// startValue returns where a scalar ends, or the first value within containers that begin at i begins and ends; an empty container ends
// with its bracket. It is negative if there is none.
func startValue(data []byte, i int, objects *[]bool) int {
	for i < len(data) {
		switch c := data[i]; {
		case c == '"':
			return skipString(data, i)
		case c == '{' || c == '[':
			if len(*objects) >= maxDepth {
				return -1
			}
			i = skipSpace(data, i+1)
			if i < len(data) && data[i] == c+2 { // the closing bracket
				return i + 1
			}
			*objects = append(*objects, c == '{')
			if c == '{' {
				if i = skipName(data, i); i < 0 {
					return -1
				}
			}
		case c == 't':
			return skipWord(data, i, "true")
		case c == 'f':
			return skipWord(data, i, "false")
		case c == 'n':
			return skipWord(data, i, "null")
		default:
			return skipNumber(data, i)
		}
	}
	return -1
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipName returns where the value of a member begins.
func skipName(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return -1
	}
	if i = skipString(data, i); i < 0 {
		return -1
	}
	if i = skipSpace(data, i); i >= len(data) || data[i] != ':' {
		return -1
	}
	return skipSpace(data, i+1)
}

func skipString(data []byte, i int) int {
	for i++; ; {
		if i, _ = plain.Skip(data, i); i >= len(data) || data[i] < ' ' {
			return -1
		}
		if data[i] == '"' {
			return i + 1
		}
		if i++; i >= len(data) || data[i] != 'u' { // any other escape would have been skipped
			return -1
		}
		for range 4 {
			if i++; i >= len(data) || !isHex(data[i]) {
				return -1
			}
		}
		i++
	}
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func skipWord(data []byte, i int, word string) int {
	if end := i + len(word); end <= len(data) && string(data[i:end]) == word {
		return end
	}
	return -1
}

func skipNumber(data []byte, i int) int {
	if data[i] == '-' {
		i++
	}
	switch {
	case i < len(data) && data[i] == '0':
		i++
	default:
		if i = skipDigits(data, i); i < 0 {
			return -1
		}
	}
	if i < len(data) && data[i] == '.' {
		if i = skipDigits(data, i+1); i < 0 {
			return -1
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return skipDigits(data, i)
	}
	return i
}

// skipDigits is negative if there is none.
func skipDigits(data []byte, i int) int {
	start := i
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}
