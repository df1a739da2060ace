package toolhost_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"
)

// TestSignaturesNameNoDependency holds that whoever uses host or pluginsdk sees types of the
// standard library and of this module only, and none of the generated wire.
func TestSignaturesNameNoDependency(t *testing.T) {
	exports := map[string]string{}
	for _, p := range list(t, "", "-export", "-deps", "./host/...", "./pluginsdk/...") {
		exports[p.ImportPath] = p.Export
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for path := range exports {
		dir, ours := strings.CutPrefix(path, module)
		if !ours || strings.HasPrefix(dir, "proto/") || strings.Contains(dir, "/internal/") || dir == "host/oteltrace" { // a bridge to one
			continue
		}
		for _, name := range foreign(t, imp, path) {
			t.Errorf("%s: %s", dir, name)
		}
	}
	if len(foreign(t, imp, module+"host/internal/launch")) == 0 {
		t.Error("host/internal/launch: its gRPC connection was not seen: this test sees nothing")
	}
}

// foreign returns every name of another module, or of the generated wire, in the exported API of a
// package, as "where: name".
func foreign(t *testing.T, imp types.Importer, path string) (names []string) {
	t.Helper()
	p, err := imp.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	w := walker{seen: map[types.Type]bool{}, found: func(n *types.TypeName, where string) {
		names = append(names, where+": "+n.Pkg().Path()+"."+n.Name())
	}}
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			w.walk(o.Type(), name)
		}
	}
	return names
}

// walker visits every type that a user of a package can see.
type walker struct {
	seen  map[types.Type]bool
	found func(n *types.TypeName, where string)
}

func (w walker) walk(t types.Type, where string) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.name(t.Obj(), where)
		w.list(t.TypeArgs(), where)
		w.walk(t.Rhs(), where)
	case *types.Named:
		if !w.name(t.Obj(), where) {
			return
		}
		w.list(t.TypeArgs(), where)
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), where+"."+m.Name())
			}
		}
		w.walk(t.Underlying(), where)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.walk(f.Type(), where+"."+f.Name())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), where+"."+m.Name())
			}
		}
	case *types.Signature:
		w.walk(t.Params(), where)
		w.walk(t.Results(), where)
	case *types.Tuple:
		for v := range t.Variables() {
			w.walk(v.Type(), where)
		}
	case *types.Map:
		w.walk(t.Key(), where)
		w.walk(t.Elem(), where)
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		w.walk(t.Elem(), where)
	}
}

func (w walker) list(args *types.TypeList, where string) {
	for t := range args.Types() {
		w.walk(t, where)
	}
}

// name reports a foreign name and tells whether the type is this module's, so that what it is made
// of is worth a visit.
func (w walker) name(n *types.TypeName, where string) bool {
	if n.Pkg() == nil {
		return false
	}
	path := n.Pkg().Path()
	ours := strings.HasPrefix(path, module)
	if first, _, _ := strings.Cut(path, "/"); (strings.Contains(first, ".") && !ours) || strings.HasPrefix(path, module+"proto/toolplugin") {
		w.found(n, where)
		return false
	}
	return ours
}
