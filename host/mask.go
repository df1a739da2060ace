package host

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/schema"
)

// masked is the value with sensitive parts masked (b15). In an output without a schema, a string that
// equals a sensitive input is masked, too.
func (r *run) masked(p Phase, value []byte) json.RawMessage {
	s := r.entry.schemaOf(p)
	if s.Sensitive() {
		doc, err := parseAny(value)
		if err != nil {
			return placeholder(p)
		}
		return s.Mask(doc)
	}
	if s == nil && p != PhaseError {
		return r.maskSecrets(value)
	}
	return value
}

// secrets are the sensitive strings of the input that are long enough to be told from chance.
func (r *run) secrets() []string {
	input := r.seen.Load()
	if r.entry == nil || input == nil || !r.entry.input.Sensitive() {
		return nil
	}
	return r.entry.input.SensitiveStrings(input, minSecret)
}

const minSecret = 6

// maskSecrets masks every string of a JSON value, names excepted, that equals a sensitive string of the input, however it is
// spelled.
func (r *run) maskSecrets(value []byte) json.RawMessage {
	secrets := r.secrets()
	if len(secrets) == 0 {
		return value
	}
	return maskStrings(value, func(s string) string {
		if slices.Contains(secrets, s) {
			return "***"
		}
		return s
	})
}

// maskWithin masks the sensitive strings of the input within the strings of a JSON value, names excepted.
func (r *run) maskWithin(value []byte) json.RawMessage {
	if len(r.secrets()) == 0 {
		return value
	}
	return maskStrings(value, r.maskText)
}

// maskStrings puts what mask makes of them in the place of the strings of a JSON value, names excepted. Those that stay the same
// stay as they are spelled.
func maskStrings(value []byte, mask func(string) string) json.RawMessage {
	out := make([]byte, 0, len(value))
	for len(value) > 0 {
		start := bytes.IndexByte(value, '"')
		if start < 0 {
			break
		}
		end := start + literal(value[start:])
		out = append(out, value[:start]...)
		var s string
		isName := bytes.HasPrefix(bytes.TrimLeft(value[end:], " \t\r\n"), []byte(":"))
		text := value[start:end]
		if !isName && json.Unmarshal(text, &s) == nil {
			if masked := mask(s); masked != s {
				text, _ = json.Marshal(masked) // a string always has a JSON form
			}
		}
		out = append(out, text...)
		value = value[end:]
	}
	return append(out, value...)
}

// literal is the length of the JSON string that text begins with.
func literal(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// maskText masks the sensitive strings of the input within a text.
func (r *run) maskText(text string) string {
	for _, secret := range r.secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// parseAny reads a document that was read before, within budgets that fit any.
func parseAny(value []byte) (*schema.Document, error) {
	return schema.Parse(value, schema.Limits{Bytes: len(value), Depth: anyDepth, Values: len(value) + 1})
}

const anyDepth = 10_000
