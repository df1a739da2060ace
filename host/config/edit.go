package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Entry is one entry of the block mcp as a file has it: nothing in it is expanded or searched for. Empty fields are not written.
type Entry struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Block returns the entries as a block mcp.
func Block(entries []Entry) []byte {
	var b bytes.Buffer
	b.WriteString("mcp:\n")
	for _, e := range entries {
		e.write(&b, "  ")
	}
	return b.Bytes()
}

// Add returns text, which is that of the file at path, with the entries added to its block mcp. Everything else stays byte
// for byte. The error says why that cannot be: an entry of the name is there, the block is not written in lines, or the result would be
// no configuration here, or would lack a variable for one of the entries; then it is an *Error.
func Add(path string, text []byte, entries []Entry) ([]byte, error) {
	before, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	out, err := insert(text, entries)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	after, err := Parse(path, out)
	if err != nil {
		return nil, err
	}
	for _, s := range after.Servers {
		if s.Unusable != nil && slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == s.Name }) {
			return nil, s.Unusable
		}
	}
	if len(after.Servers) != len(before.Servers)+len(entries) { // cannot happen: it was parsed before and after
		return nil, fmt.Errorf("%s: the entries do not fit in; add them by hand", path)
	}
	return out, nil
}

func insert(text []byte, entries []Entry) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return slices.Concat(ended(text), Block(entries)), nil
	}
	root := doc.Content[0]
	if root.Style&yaml.FlowStyle != 0 {
		return nil, errors.New("it is written in braces; write it in lines, or add the entries by hand")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "mcp" {
			return insertAt(text, root.Content[i], root.Content[i+1], entries)
		}
	}
	if root.Column != 1 {
		return nil, errors.New("its keys are indented; add the entries by hand")
	}
	return slices.Concat(ended(text), Block(entries)), nil
}

// insertAt puts the entries in front of those that the block has.
func insertAt(text []byte, key, block *yaml.Node, entries []Entry) ([]byte, error) {
	if block.Kind != yaml.MappingNode || block.Style&yaml.FlowStyle != 0 || len(block.Content) == 0 || block.Line <= key.Line {
		return nil, fmt.Errorf("line %d: mcp is written on one line; write it in lines, or add the entries by hand", key.Line)
	}
	for i := 0; i+1 < len(block.Content); i += 2 {
		for _, e := range entries {
			if block.Content[i].Value == e.Name {
				return nil, fmt.Errorf("line %d: mcp has an entry %s, which is not replaced", block.Content[i].Line, e.Name)
			}
		}
	}
	at := 0
	for range key.Line {
		at += bytes.IndexByte(text[at:], '\n') + 1 // the block is below
	}
	var b bytes.Buffer
	for _, e := range entries {
		e.write(&b, strings.Repeat(" ", block.Content[0].Column-1))
	}
	return slices.Concat(text[:at], b.Bytes(), text[at:]), nil
}

// ended is text with a line end, if it has anything.
func ended(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(slices.Clone(text), '\n')
	}
	return text
}

func (e Entry) write(b *bytes.Buffer, indent string) {
	b.WriteString(indent + scalar(e.Name) + ":\n")
	indent += "  "
	one := func(key, value string) {
		if value != "" {
			b.WriteString(indent + key + ": " + scalar(value) + "\n")
		}
	}
	all := func(key string, values map[string]string) {
		if len(values) == 0 {
			return
		}
		b.WriteString(indent + key + ":\n")
		names := make([]string, 0, len(values))
		for name := range values {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			b.WriteString(indent + "  " + scalar(name) + ": " + scalar(values[name]) + "\n")
		}
	}
	one("command", e.Command)
	if len(e.Args) > 0 {
		words := make([]string, len(e.Args))
		for i, arg := range e.Args {
			words[i] = scalar(arg)
		}
		b.WriteString(indent + "args: [" + strings.Join(words, ", ") + "]\n")
	}
	all("env", e.Env)
	one("cwd", e.Cwd)
	one("url", e.URL)
	all("headers", e.Headers)
}

var (
	// plain is a text that YAML reads as itself without quotes, wherever it stands.
	plain = lazily(`^[A-Za-z/][A-Za-z0-9_./-]*$`)
	// otherWords would be no texts.
	otherWords = lazily(`(?i)^(true|false|yes|no|on|off|null|y|n)$`)
	// escaped are characters that JSON has as they are and YAML has not.
	escaped = lazily(`[\x7f-\x{9f}\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]`)
)

// lazily is the expression, compiled when it is first asked for: few programs that read a configuration write one.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// scalar writes a text as YAML, on one line.
func scalar(s string) string {
	if plain().MatchString(s) && !otherWords().MatchString(s) {
		return s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // cannot happen: a text
		return `""`
	}
	return escaped().ReplaceAllStringFunc(strings.TrimSuffix(b.String(), "\n"), func(c string) string {
		return fmt.Sprintf(`\u%04x`, []rune(c)[0])
	})
}
