package toolhost_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the code blocks of the documents from the files that they quote")

var (
	// A fenced block, with the comment above it that names what it quotes: FILE or FILE#DECLARATION.
	block = regexp.MustCompile("(?m)(^<!-- file: (\\S+) -->\n)?^```(\\w*)\n((?s:.*?))^```$")
	// A link to a file of this repository.
	link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	// A make target, and how a document names one.
	target  = regexp.MustCompile(`(?m)^([a-z]+):.* ## `)
	command = regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)")
)

// documents returns the paths of all documents.
func documents(t *testing.T) []string {
	t.Helper()
	more, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}, more...)
}

// TestDocumentsQuoteFiles holds that every Go and YAML block in a document, and every other one that
// says so, is a file that is compiled or run by a test. With -update it makes it so.
func TestDocumentsQuoteFiles(t *testing.T) {
	quoted := 0
	for _, name := range documents(t) {
		text := read(t, name)
		fresh := block.ReplaceAllFunc(text, func(b []byte) []byte {
			m := block.FindSubmatch(b)
			path, lang := string(m[2]), string(m[3])
			if path == "" {
				if lang == "go" || lang == "yaml" {
					t.Errorf("%s: a %s block quotes no file:\n%s", name, lang, m[4])
				}
				return b
			}
			quoted++
			return []byte("<!-- file: " + path + " -->\n```" + lang + "\n" + quote(t, path) + "```")
		})
		if bytes.Equal(text, fresh) {
			continue
		}
		if !*update {
			t.Errorf("%s: a block differs from the file that it quotes: go test . -run Documents -update", name)
		} else if err := os.WriteFile(name, fresh, 0o644); err != nil {
			t.Error(err)
		}
	}
	if quoted == 0 {
		t.Error("no document quotes a file: this test sees nothing")
	}
}

// TestDocumentsNameWhatExists holds that the files that documents link to and the make targets that
// they name are there, and that the README stays short.
func TestDocumentsNameWhatExists(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllSubmatch(read(t, "Makefile"), -1) {
		targets[string(m[1])] = true
	}
	for _, name := range documents(t) {
		text := read(t, name)
		for _, m := range link.FindAllSubmatch(fence.ReplaceAll(text, nil), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), string(m[1]))); err != nil {
				t.Errorf("%s: links to %s: %v", name, m[1], err)
			}
		}
		for _, m := range command.FindAllSubmatch(text, -1) {
			if !targets[string(m[1])] {
				t.Errorf("%s: make %s is no target of the Makefile", name, m[1])
			}
		}
		if n := strings.Count(string(text), "\n"); name == "README.md" && n > readmeLines {
			t.Errorf("README.md: %d lines, more than %d", n, readmeLines)
		}
	}
}

// TestSecurityNamesTestsThatExist holds that what SECURITY.md promises is held by tests that are there.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	there := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != "." && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range testFunc.FindAllSubmatch(read(t, path), -1) {
				there[string(m[1])] = true
			}
		case filepath.Ext(path) == ".txtar":
			there["TestScripts/"+strings.TrimSuffix(e.Name(), ".txtar")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := testName.FindAllSubmatch(read(t, "SECURITY.md"), -1)
	for _, m := range named {
		if !there[string(m[1])] {
			t.Errorf("SECURITY.md names %s, and there is no such test", m[1])
		}
	}
	if len(named) == 0 {
		t.Error("SECURITY.md names no test: this test sees nothing")
	}
}

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	testName = regexp.MustCompile("`((?:Test|Fuzz)[\\w/]+)`")
)

// readmeLines keeps the README short enough to be read: what is longer goes into docs.
const readmeLines = 230

// fence is a block of code.
var fence = regexp.MustCompile("(?ms)^```.*?^```")

// quote returns the text of a file, or of the one top-level function or type named after a #.
func quote(t *testing.T, path string) string {
	t.Helper()
	file, name, part := strings.Cut(path, "#")
	text := string(read(t, file))
	if !part {
		return text
	}
	found := regexp.MustCompile(`(?ms)^(func|type) ` + regexp.QuoteMeta(name) + `\b.*?^}\n`).FindString(text)
	if found == "" {
		t.Errorf("%s: no such function or type", path)
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
