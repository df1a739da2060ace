//go:build unix

package host_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata/contract; read what changed before you keep it")

// contractDir holds the conversations. Its README says how they are written.
const contractDir = "testdata/contract"

// TestContract plays every conversation against a real host and a real plugin process.
func TestContract(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(contractDir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	results := newVerdicts()
	t.Cleanup(func() { results.print(t) })
	for _, file := range files {
		t.Run(contractName(file), func(t *testing.T) {
			t.Parallel()
			defer results.note(t, contractName(file))
			playFile(t, file)
		})
	}
}

func contractName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// playFile runs one file's script and compares what it printed.
func playFile(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for _, f := range a.Files {
		data[f.Name] = string(f.Data)
	}
	if data["script"] == "" {
		t.Fatalf("%s: no section script", file)
	}
	got := newConversation(t, data).play(data["script"])
	if *update {
		writeWant(t, file, a, got)
		return
	}
	if d := diff.Diff("want", []byte(data["want"]), "got", []byte(got)); d != nil {
		t.Errorf("%s:\n%s", file, d)
	}
}

func writeWant(t *testing.T, file string, a *txtar.Archive, got string) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	if i < 0 {
		i = len(a.Files)
		a.Files = append(a.Files, txtar.File{Name: "want"})
	}
	if string(a.Files[i].Data) == got {
		return
	}
	a.Files[i].Data = []byte(got)
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
