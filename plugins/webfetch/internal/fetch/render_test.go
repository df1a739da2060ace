package fetch

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/plugins/internal/upstream"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares what the recorded pages become with testdata, in every format. The server's address is
// written HOST.
func TestGolden(t *testing.T) {
	base, f := serve(t, upstream.Handler(), Settings{})
	host := strings.TrimPrefix(base, "http://")
	for name, in := range map[string]Input{
		"article-markdown": {URL: "/article"}, "article-text": {URL: "/article", Format: formatText},
		"article-raw": {URL: "/article", Format: formatRaw}, "article-links": {URL: "/article", Links: true, MaxChars: 100},
		"article-whole": {URL: "/article", WholePage: true, Links: true}, "gzip": {URL: "/gzip"},
		"windows-1251": {URL: "/windows-1251"}, "shift-jis": {URL: "/shift-jis"}, "json": {URL: "/data.json"},
		"notes": {URL: "/notes.txt"}, "missing": {URL: "/no-such-page"}, "teapot": {URL: "/teapot", Format: formatText},
	} {
		t.Run(name, func(t *testing.T) {
			in.URL = base + upstream.PagesPath + in.URL
			out, err := f.Fetch(t.Context(), in, nil)
			if err != nil {
				t.Fatal(err)
			}
			content := out.Content
			out.Content = ""
			head, err := json.MarshalIndent(out, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(head)+"\n----\n"+content, host, "HOST")
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOffsetsMakeUpTheWhole reads a page in parts of an odd length and puts them together.
func TestOffsetsMakeUpTheWhole(t *testing.T) {
	base, f := serve(t, upstream.Handler(), Settings{})
	in := Input{URL: base + upstream.PagesPath + "/large", MaxChars: limitChars}
	whole, err := f.Fetch(t.Context(), in, nil)
	if err != nil || whole.Truncated || whole.NextOffset != nil || *whole.TotalChars != utf8.RuneCountInString(whole.Content) {
		t.Fatalf("%v, %+v", err, whole.NextOffset)
	}
	if !strings.Contains(whole.Content, "Paragraph 1.") || !strings.Contains(whole.Content, "Paragraph 600.") {
		t.Fatalf("content of %d bytes", len(whole.Content))
	}
	var parts strings.Builder
	in.MaxChars = 7919
	for n := 0; ; n++ {
		out, err := f.Fetch(t.Context(), in, nil)
		if err != nil || n > 50 || !utf8.ValidString(out.Content) {
			t.Fatalf("part %d: %v", n, err)
		}
		parts.WriteString(out.Content)
		if out.NextOffset == nil {
			if out.Truncated {
				t.Error("the last part is truncated")
			}
			break
		}
		if !out.Truncated || *out.NextOffset != in.Offset+in.MaxChars || *out.TotalChars != *whole.TotalChars {
			t.Errorf("part %d: next %d of %d", n, *out.NextOffset, *out.TotalChars)
		}
		in.Offset = *out.NextOffset
	}
	if parts.String() != whole.Content {
		t.Error("the parts are not the whole")
	}
	in.Offset = *whole.TotalChars + 5
	if out, err := f.Fetch(t.Context(), in, nil); err != nil || out.Content != "" || out.Truncated || !strings.Contains(out.Note, "beyond") {
		t.Errorf("beyond the end: %+v, %v", out, err)
	}
}

func TestSliceKeepsRunes(t *testing.T) {
	const s = "aé潮😀\n"
	for _, c := range []struct {
		offset, limit int
		part          string
		next          int
	}{{0, 2, "aé", 2}, {1, 2, "é潮", 3}, {3, 9, "😀\n", 5}, {5, 1, "", 5}, {9, 9, "", 5}, {0, 5, s, 5}} {
		if part, next, total := slice(s, c.offset, c.limit); part != c.part || next != c.next || total != 5 {
			t.Errorf("slice(%d, %d) = %q, %d, %d", c.offset, c.limit, part, next, total)
		}
	}
}

func TestBI29_Charsets(t *testing.T) {
	for name, c := range map[string]struct {
		body, contentType, override, want, charset string
	}{
		"header":           {"caf\xe9", "text/plain; charset=iso-8859-1", "", "café", "windows-1252"},
		"header wins":      {"<meta charset=utf-8>caf\xe9", "text/plain; charset=latin1", "", "<meta charset=utf-8>café", "windows-1252"},
		"override wins":    {"caf\xc3\xa9", "text/plain; charset=iso-8859-1", "utf-8", "café", "utf-8"},
		"mark wins":        {"\xef\xbb\xbfcaf\xc3\xa9", "text/plain; charset=iso-8859-1", "", "café", "utf-8"},
		"utf-16 mark":      {"\xff\xfea\x00\xe9\x00", "text/plain", "", "aé", "utf-16le"},
		"none, utf-8":      {strings.Repeat("a", 2000) + "é", "text/plain", "", strings.Repeat("a", 2000) + "é", "utf-8"},
		"none, no utf-8":   {"caf\xe9", "text/plain", "", "café", "windows-1252"},
		"broken utf-8":     {"caf\xe9!", "text/plain; charset=utf-8", "", "caf\ufffd!", "utf-8"},
		"json":             {`{"a":"é"}`, "application/json", "", `{"a":"é"}`, "utf-8"},
		"unknown in heade": {"café", "text/plain; charset=klingon", "", "café", "utf-8"},
	} {
		base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.contentType)
			_, _ = w.Write([]byte(c.body))
		}), Settings{})
		out, err := f.Fetch(t.Context(), Input{URL: base, Charset: c.override}, nil)
		if err != nil || out.Content != c.want || out.Charset != c.charset {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

// TestContentKinds serves what is text, what is not, and what says nothing of itself.
func TestContentKinds(t *testing.T) {
	for name, c := range map[string]struct {
		status            int
		contentType, body string
		kind              string // of the error; none if empty
		content           string
	}{
		"pdf":               {200, "application/pdf", "%PDF-1.7", kindType, ""},
		"image":             {200, "image/png", "\x89PNG\r\n\x1a\n", kindType, ""},
		"archive":           {200, "application/zip", "PK\x03\x04", kindType, ""},
		"document":          {200, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "PK\x03\x04", kindType, ""},
		"gzip file":         {200, "application/gzip", "\x1f\x8b\x08", kindType, ""},
		"binary as text":    {200, "text/plain", "a\x00b", kindType, ""},
		"unknown, pdf":      {200, "application/octet-stream", "%PDF-1.7", kindType, ""},
		"image, not found":  {404, "image/png", "\x89PNG\r\n\x1a\n", "", ""},
		"unknown, html":     {200, "", "<!doctype html><p>hello", "", "hello"},
		"nonsense":          {200, "nonsense", "plain words", "", "plain words"},
		"empty":             {200, "text/html", "", "", ""},
		"problem":           {500, "application/problem+json", `{"x":1}`, "", `{"x":1}`},
		"feed":              {200, "application/rss+xml", "<rss/>", "", "<rss/>"},
		"markdown as it is": {200, "text/markdown", "# a *b*", "", "# a *b*"},
	} {
		base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = []string{c.contentType}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}), Settings{})
		out, err := f.Fetch(t.Context(), Input{URL: base}, nil)
		switch {
		case c.kind != "":
			wantKind(t, err, c.kind)
		case err != nil || out.Content != c.content || out.Status != c.status || out.OK != (c.status == 200):
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }), Settings{})
	if out, err := f.Fetch(t.Context(), Input{URL: base}, nil); err != nil || out.Status != 204 || !out.OK || out.Content != "" {
		t.Errorf("204: %+v, %v", out, err)
	}
}

func TestInputIsChecked(t *testing.T) {
	f := newFetcher(t, Settings{})
	for _, in := range []Input{{Format: "pdf"}, {MaxChars: -1}, {MaxChars: limitChars + 1}, {Offset: -1}, {Charset: "klingon"}} {
		in.URL = "https://example.com/"
		_, err := f.Fetch(t.Context(), in, nil)
		wantKind(t, err, kindInput)
	}
	_, err := f.Fetch(t.Context(), Input{URL: "http://" + strings.Repeat("a", maxURL)}, nil)
	if wantKind(t, err, kindURL); len(err.Error()) > 400 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
	_, err = f.Fetch(t.Context(), Input{URL: "ftp://me:hunter2@example.com/%zz"}, nil)
	if wantKind(t, err, kindURL); strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// TestFallbackToStrippedTags has 600 elements inside one another, which the parser refuses.
func TestFallbackToStrippedTags(t *testing.T) {
	markup := "<title>Deep &amp; dark</title><style>no</style><p>first  line<br>second" + strings.Repeat("<i>", 600) + "third<script>no</script>" +
		"<pre>a\n  b</pre><table><tr><td>c<td>d</table>&lt;end&gt;"
	doc := convertPage(t.Context(), markup, &url.URL{Scheme: "https", Host: "example.com"}, options{format: formatMarkdown})
	want := document{title: "Deep & dark", content: "first line\nsecondthird\na\n  b\nc\nd\n<end>", format: formatText, note: doc.note}
	if diff := cmp.Diff(want, doc, cmp.AllowUnexported(document{})); diff != "" || !strings.Contains(doc.note, "512") {
		t.Errorf("%s, note %q", diff, doc.note)
	}
}

// TestT7_DepthIsUnwrapped keeps the text of what is nested too deep, line by line.
func TestT7_DepthIsUnwrapped(t *testing.T) {
	markup := strings.Repeat("<blockquote>", 200) + "one<div>two</div><div>three</div>"
	doc := convertPage(t.Context(), markup, &url.URL{Scheme: "https", Host: "example.com"}, options{format: formatMarkdown})
	if doc.format != formatMarkdown || strings.Count(doc.content, ">") > 4*maxContainers {
		t.Errorf("%s: %d marks", doc.format, strings.Count(doc.content, ">"))
	}
	for _, word := range []string{"one", "two", "three"} {
		if !strings.Contains(doc.content, word) || strings.Contains(doc.content, "twothree") {
			t.Errorf("%q in %q", word, doc.content)
		}
	}
}
