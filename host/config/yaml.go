package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// document is a YAML text as JSON, with the place of every value.
type document struct {
	json   []byte
	places map[string]place // by JSON Pointer
}

// place says where a value and its key stand. key is nil for items of a sequence and for the root.
type place struct{ key, value *yaml.Node }

const (
	maxNodes = 100_000 // after aliases are followed, so that they cannot multiply (billion laughs)
	maxDepth = 100
)

// parseYAML reads one YAML document. What JSON cannot say (a second document, a merge key, a tag of its own,
// an infinite number, the same key twice) is a fault.
func parseYAML(text []byte) (*document, []Fault) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF):
		return &document{json: []byte("{}")}, nil
	case err != nil:
		return nil, []Fault{syntaxFault(err)}
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, []Fault{{Line: second.Line, Message: "a second document; keep one document in the file"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, []Fault{syntaxFault(err)}
	}
	c := converter{places: map[string]place{}}
	node := root.Content[0]
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return &document{json: []byte("{}")}, nil
	}
	c.value("", place{value: node}, 0)
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return &document{json: c.out.Bytes(), places: c.places}, nil
}

// at returns the node that stands for the value at pointer, or for its nearest parent if there is none. byKey
// asks for the key in place of the value.
func (d *document) at(pointer string, byKey bool) (line, column int) {
	for {
		if p, ok := d.places[pointer]; ok {
			node := p.value
			if byKey && p.key != nil {
				node = p.key
			}
			return node.Line, node.Column
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return 0, 0
		}
		pointer, byKey = pointer[:i], true
	}
}

// has reports whether there is a value at pointer.
func (d *document) has(pointer string) bool {
	_, ok := d.places[pointer]
	return ok
}

// converter writes YAML nodes as JSON.
type converter struct {
	out    bytes.Buffer
	places map[string]place
	nodes  int
	faults []Fault
}

func (c *converter) value(pointer string, p place, depth int) {
	if len(c.faults) > 0 {
		return
	}
	c.nodes++
	if c.nodes > maxNodes || depth > maxDepth {
		c.fault(p.value, pointer, "too much, or too deeply nested (do aliases repeat themselves?)")
		return
	}
	if _, seen := c.places[pointer]; !seen {
		c.places[pointer] = p
	}
	node := p.value
	switch node.Kind {
	case yaml.AliasNode:
		c.value(pointer, place{key: p.key, value: node.Alias}, depth+1)
	case yaml.MappingNode:
		c.mapping(pointer, node, depth)
	case yaml.SequenceNode:
		c.out.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				c.out.WriteByte(',')
			}
			c.value(pointer+"/"+strconv.Itoa(i), place{value: item}, depth+1)
		}
		c.out.WriteByte(']')
	default:
		c.scalar(pointer, node)
	}
}

func (c *converter) mapping(pointer string, node *yaml.Node, depth int) {
	c.out.WriteByte('{')
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			c.fault(key, pointer, "a key must be a word")
			return
		case key.ShortTag() == "!!merge":
			c.fault(key, pointer, "merge keys (<<) are not read; write the members out")
			return
		}
		if line, again := seen[key.Value]; again {
			c.fault(key, pointer+"/"+jsonpointer.Escape(key.Value), fmt.Sprintf("the key is there twice, first on line %d", line))
			return
		}
		seen[key.Value] = key.Line
		if i > 0 {
			c.out.WriteByte(',')
		}
		c.string(key.Value)
		c.out.WriteByte(':')
		c.value(pointer+"/"+jsonpointer.Escape(key.Value), place{key: key, value: value}, depth+1)
	}
	c.out.WriteByte('}')
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$`)

func (c *converter) scalar(pointer string, node *yaml.Node) {
	switch tag := node.ShortTag(); tag {
	case "!!str", "!!timestamp":
		c.string(node.Value)
	case "!!null":
		c.out.WriteString("null")
	case "!!bool":
		var b bool
		if err := node.Decode(&b); err != nil {
			c.fault(node, pointer, "neither true nor false")
			return
		}
		c.out.WriteString(strconv.FormatBool(b))
	case "!!int", "!!float":
		c.number(pointer, node)
	default:
		c.fault(node, pointer, "the tag "+tag+" is not read; write a plain value")
	}
}

// number keeps the spelling where JSON has it too.
func (c *converter) number(pointer string, node *yaml.Node) {
	if jsonNumber.MatchString(node.Value) {
		c.out.WriteString(node.Value)
		return
	}
	var i int64
	if node.Decode(&i) == nil {
		c.out.WriteString(strconv.FormatInt(i, 10))
		return
	}
	var f float64
	if err := node.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		c.fault(node, pointer, "no number that JSON knows; put it in quotes if it is text")
		return
	}
	c.out.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
}

func (c *converter) string(s string) {
	text, err := json.Marshal(s)
	if err != nil { // cannot happen: a string always marshals
		text = []byte(`""`)
	}
	c.out.Write(text)
}

func (c *converter) fault(node *yaml.Node, pointer, message string) {
	c.faults = append(c.faults, Fault{Line: node.Line, Column: node.Column, Path: dotted(pointer), Message: message})
}

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?(?:line ([0-9]+): )?(.*)$`)

// syntaxFault reads the line out of the YAML parser's message.
func syntaxFault(err error) Fault {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return Fault{Message: err.Error()}
	}
	line, _ := strconv.Atoi(m[1])                                         // empty: 0, not known
	if strings.HasSuffix(m[2], "character that cannot start any token") { // of all that do, a tab is what people write
		m[2] += "; indent with spaces, not with tabs"
	}
	return Fault{Line: line, Message: "no YAML: " + m[2]}
}

// dotted writes a JSON Pointer as people write a path: plugins.weather.args[0].
func dotted(pointer string) string {
	var b strings.Builder
	for i, key := range splitPointer(pointer) {
		_, err := strconv.Atoi(key)
		switch {
		case err == nil:
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

func splitPointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	keys := strings.Split(pointer[1:], "/")
	for i, key := range keys {
		keys[i] = jsonpointer.Unescape(key)
	}
	return keys
}

func readBounded(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, MaxSize+1))
}
