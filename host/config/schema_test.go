package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

func TestSchemaMatchesStructs(t *testing.T) {
	root := new(node)
	if err := json.Unmarshal(Schema(), root); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		of      reflect.Type
		at      *node
		without []string // fields that a file does not set
		more    []string // keys that are no fields
	}{
		{"Config", reflect.TypeFor[host.Config](), root, []string{"dirs", "eager", "hooks", "keys", "lock", "logger", "sandboxHelper", "stateDir", "tracer", "transform"}, []string{"mcp", "serve"}},
		{"Plugin", reflect.TypeFor[host.Plugin](), root.Defs["plugin"], []string{"name", "dial", "programs", "unusable"}, nil},
		{"serverJSON", reflect.TypeFor[serverJSON](), root.Defs["server"], nil, nil},
		{"Server", reflect.TypeFor[Server](), root.Defs["server"], []string{"name", "unusable"}, []string{"disabled"}},
		{"Serve", reflect.TypeFor[Serve](), root.Defs["serve"], nil, nil},
		{"serveJSON", reflect.TypeFor[serveJSON](), root.Defs["serve"], nil, nil},
		{"Grant", reflect.TypeFor[host.Grant](), root.Defs["grant"], nil, nil},
		{"Sandbox", reflect.TypeFor[host.Sandbox](), root.Defs["sandbox"], nil, nil},
		{"sandboxJSON", reflect.TypeFor[sandboxJSON](), root.Defs["sandbox"], nil, nil},
		{"Limits", reflect.TypeFor[host.Limits](), root.Defs["limits"], nil, nil},
		{"Policy", reflect.TypeFor[host.Policy](), root.Defs["policy"], []string{"func"}, nil},
		{"CallerMatch", reflect.TypeFor[host.CallerMatch](), root.Defs["caller"], nil, nil},
		{"RuleHints", reflect.TypeFor[host.RuleHints](), root.Defs["annotations"], nil, nil},
		{"Condition", reflect.TypeFor[host.Condition](), root.Defs["test"], []string{"path"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var fields, keys []string
			for i := range tt.of.NumField() {
				fields = append(fields, key(tt.of.Field(i).Name))
			}
			for name := range tt.at.Properties {
				keys = append(keys, name)
			}
			fields = append(fields, tt.more...)
			slices.Sort(fields)

			keys = append(keys, tt.without...)
			slices.Sort(keys)
			if diff := cmp.Diff(fields, keys); diff != "" {
				t.Errorf("struct and schema differ (-struct +schema):\n%s", diff)
			}
		})
	}
}

func TestSchemaMatchesLimitKinds(t *testing.T) {
	root := new(node)
	if err := json.Unmarshal(Schema(), root); err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[host.Limits]()
	for i := range of.NumField() {
		f := of.Field(i)
		ref := root.Defs["limits"].Properties[key(f.Name)].Ref
		if isDuration := f.Type == reflect.TypeFor[time.Duration](); isDuration != (ref == "#/$defs/duration") {
			t.Errorf("%s is a %v, but the schema says %s", f.Name, f.Type, ref)
		}
	}
}

func TestSchemaSaysWhatEveryKeyIs(t *testing.T) {
	root := new(node)
	if err := json.Unmarshal(Schema(), root); err != nil {
		t.Fatal(err)
	}
	all := []*node{root}
	for _, n := range root.Defs {
		all = append(all, n)
	}
	for _, n := range all {
		for name, p := range n.Properties {
			if p.Description == "" {
				t.Errorf("%s has no description", name)
			}
		}
	}
}

func TestSchemaIsACopy(t *testing.T) {
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller can change the schema")
	}
}

func TestKey(t *testing.T) {
	for in, want := range map[string]string{"Path": "path", "PingWait": "pingWait", "SHA256": "sha256", "Starts": "starts"} {
		if got := key(in); got != want {
			t.Errorf("key(%s) = %s, want %s", in, got, want)
		}
	}
}
