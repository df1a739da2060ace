package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/config"
)

func offerOf(name string) *importOffer {
	return &importOffer{taken: []*imported{{Entry: config.Entry{Name: name, Command: "/bin/true"}}}}
}

func TestT52_ImportsAtTheSameTimeLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toolhost.yaml")
	if err := os.WriteFile(path, []byte("# mine\nplugins: {}\n# tail\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const n = 12
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { // ends with the import
			if _, err := (&app{config: path}).writeImport(offerOf(fmt.Sprint("s", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "command:") != n || !strings.HasPrefix(string(text), "# mine\n") {
		t.Errorf("%v\n%s", err, text)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestT52_AReadOnlyConfigurationIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toolhost.yaml")
	if err := os.WriteFile(path, []byte("# mine\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := (&app{config: path}).writeImport(offerOf("s")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "# mine\n" {
		t.Errorf("it is now %q", text)
	}
}
