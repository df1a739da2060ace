package toolhost_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestA4_NothingSleeps holds that neither the SDK nor its test kit sleeps in place of a signal: an author's plugin and an
// author's test may rely on what they are told.
func TestA4_NothingSleeps(t *testing.T) {
	files := 0
	for _, dir := range []string{"pluginsdk", "proto/session"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			set := token.NewFileSet()
			src, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(src, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
					t.Errorf("%v: it sleeps", set.Position(s.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 20 {
		t.Errorf("only %d files", files)
	}
}
