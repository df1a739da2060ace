package pluginsdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// settingsSchema is the schema of what v points to.
func settingsSchema(v any) ([]byte, error) {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || reflect.ValueOf(v).IsNil() {
		return nil, errors.New("v must be a pointer that is not nil")
	}
	t = t.Elem()
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	return infer(t, reads)
}

// decodeSettings decodes settings into v strictly: every required name is there and no unknown one.
func decodeSettings(raw []byte, v any) error {
	schema, err := settingsSchema(v)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	if err := checkJSON(raw); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if schema != nil {
		var root names
		if err := json.Unmarshal(schema, &root); err != nil {
			return fmt.Errorf("settings: schema: %w", err)
		}
		if err := root.check(&root, raw, ""); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
	}
	if err := decode(raw, v); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// names is what of an inferred schema says which names an object has. The host checks the
// whole schema; this finds the two faults that encoding/json is silent about.
type names struct {
	Ref        string            `json:"$ref"`
	Defs       map[string]*names `json:"$defs"`
	Properties map[string]*names `json:"properties"`
	Required   []string          `json:"required"`
	Items      *names            `json:"items"`
	Additional *additional       `json:"additionalProperties"`
}

// additional is false or a schema.
type additional struct {
	forbidden bool
	schema    *names
}

func (a *additional) UnmarshalJSON(raw []byte) error {
	if a.forbidden = string(raw) == "false"; a.forbidden || string(raw) == "true" {
		return nil
	}
	return json.Unmarshal(raw, &a.schema)
}

// UnmarshalJSON also takes the schema true.
func (n *names) UnmarshalJSON(raw []byte) error {
	type plain names
	if !isObject(raw) {
		return nil
	}
	return json.Unmarshal(raw, (*plain)(n))
}

func (n *names) check(root *names, raw json.RawMessage, path string) error {
	switch {
	case n == nil:
		return nil
	case n.Ref == "#":
		n = root
	case n.Ref != "":
		return root.Defs[n.Ref[len("#/$defs/"):]].check(root, raw, path)
	}
	var object map[string]json.RawMessage
	var array []json.RawMessage
	switch raw = bytes.TrimLeft(raw, " \t\r\n"); {
	case raw[0] == '{' && json.Unmarshal(raw, &object) == nil:
		return n.checkObject(root, object, path)
	case raw[0] == '[' && json.Unmarshal(raw, &array) == nil:
		for i, e := range array {
			if err := n.Items.check(root, e, fmt.Sprintf("%s/%d", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *names) checkObject(root *names, object map[string]json.RawMessage, path string) error {
	for _, name := range n.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("at %s/%s: missing", path, jsonpointer.Escape(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub, ok := n.Properties[name]
		if !ok && n.Additional != nil {
			if n.Additional.forbidden {
				return fmt.Errorf("at %s/%s: unknown", path, jsonpointer.Escape(name))
			}
			sub = n.Additional.schema
		}
		if err := sub.check(root, object[name], path+"/"+jsonpointer.Escape(name)); err != nil {
			return err
		}
	}
	return nil
}
