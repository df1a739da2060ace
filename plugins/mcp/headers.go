package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/runes"
)

// mirrors are the arguments of tools that a server of the modern era wants as headers too (x-mcp-header, SEP-2243).
type mirrors struct {
	mu    sync.Mutex
	tools map[string][]mirror
}

// mirror is one argument: where it is, and what header has it.
type mirror struct {
	path   []string
	header string
}

func newMirrors() *mirrors { return &mirrors{tools: map[string][]mirror{}} }

// learn remembers the mirrors of a tool, and says why it cannot be called if one is wrong.
func (m *mirrors) learn(name string, schema json.RawMessage) (warning string) {
	var list []mirror
	err := collect(schema, nil, &list)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tools, name)
	if err != nil {
		return fmt.Sprintf("tool %q is left out: %v", runes.Cut(name, 100), err)
	}
	if len(list) > 0 {
		m.tools[name] = list
	}
	return ""
}

// maxMirrorDepth bounds how deep properties are looked at.
const maxMirrorDepth = 32

// collect walks the properties of a schema. What is of an odd form has no mirrors: whoever makes a tool of it will say so.
func collect(schema json.RawMessage, path []string, list *[]mirror) error {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || len(path) > maxMirrorDepth {
		return nil
	}
	for name, raw := range s.Properties {
		var property map[string]json.RawMessage
		if json.Unmarshal(raw, &property) != nil {
			continue
		}
		at := append(slices.Clone(path), name)
		if mark, there := property["x-mcp-header"]; there {
			header, err := mirrorName(mark, property["type"], *list)
			if err != nil {
				return fmt.Errorf("x-mcp-header of property %s: %w", strconv.Quote(strings.Join(at, ".")), err)
			}
			*list = append(*list, mirror{at, header})
		}
		if err := collect(raw, at, list); err != nil {
			return err
		}
	}
	return nil
}

func mirrorName(mark, kind json.RawMessage, before []mirror) (string, error) {
	var name, of string
	if json.Unmarshal(mark, &name) != nil || name == "" {
		return "", fmt.Errorf("it must be a name")
	}
	for _, c := range name {
		if c >= 0x7f || c <= ' ' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c) {
			return "", fmt.Errorf("%q cannot be in the name of a header", c)
		}
	}
	if json.Unmarshal(kind, &of) != nil || of != "string" && of != "integer" && of != "boolean" {
		return "", fmt.Errorf("its type must be string, integer or boolean")
	}
	for _, m := range before {
		if strings.EqualFold(m.header, name) {
			return "", fmt.Errorf("%q is the header of another property too", name)
		}
	}
	return name, nil
}

// set sets the headers of a call.
func (m *mirrors) set(h http.Header, tool string, args json.RawMessage) {
	m.mu.Lock()
	list := m.tools[tool]
	m.mu.Unlock()
	for _, one := range list {
		if value, ok := valueAt(args, one.path); ok {
			h.Set("Mcp-Param-"+one.header, headerValue(value))
		}
	}
}

// valueAt is the string, the integer or the boolean at path, as text. Null and what is not there have none.
func valueAt(raw json.RawMessage, path []string) (string, bool) {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return "", false
		}
		raw = object[name]
	}
	var s string
	switch text := strings.TrimSpace(string(raw)); {
	case text == "" || text == "null":
		return "", false
	case text == "true" || text == "false":
		return text, true
	case text[0] == '"':
		return s, json.Unmarshal(raw, &s) == nil
	default:
		return wholeNumber(text)
	}
}

// wholeNumber is an integer in decimal: 42.0 and 4.2e1 are 42.
func wholeNumber(text string) (string, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// headerValue is text as a header can have it: what is not plain ASCII is in base64.
func headerValue(text string) string {
	plain := strings.TrimSpace(text) == text && !(strings.HasPrefix(text, "=?base64?") && strings.HasSuffix(text, "?="))
	for _, c := range []byte(text) {
		plain = plain && c >= ' ' && c < 0x7f
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}
