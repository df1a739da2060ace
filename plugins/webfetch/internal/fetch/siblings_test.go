package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestT7_SiblingCallsGoOn fills every slot of the converter, as hostile pages do: what needs no conversion is fetched as ever,
// and a page ends with its own call.
func TestT7_SiblingCallsGoOn(t *testing.T) {
	base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set("Content-Type", "text/plain"); r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
		}
		_, _ = w.Write([]byte("<p>hello"))
	}), Settings{})
	for range cap(f.convert.slots) {
		f.convert.slots <- struct{}{}
	}
	for range 20 {
		if out, err := f.Fetch(t.Context(), Input{URL: base}, nil); err != nil || out.Content != "<p>hello" {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := f.Fetch(ctx, Input{URL: base + "/page"}, nil)
	wantKind(t, err, kindTimeout)
	for range cap(f.convert.slots) {
		<-f.convert.slots
	}
	if out, err := f.Fetch(t.Context(), Input{URL: base + "/page"}, nil); err != nil || out.Content != "hello" {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestT8_ArchivesAreNotOpened serves a real archive with a bomb inside under types that could lead astray.
func TestT8_ArchivesAreNotOpened(t *testing.T) {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("a"), 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"", "application/zip", "application/epub+zip", "application/octet-stream", "text/html", "text/plain",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document"} {
		base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			_, _ = w.Write(archive.Bytes())
		}), Settings{})
		out, err := f.Fetch(t.Context(), Input{URL: base}, nil)
		if err == nil && strings.Contains(out.Content, "aaaa") {
			t.Errorf("%s: opened", kind)
		}
		wantKind(t, err, kindType)
	}
}

// TestT42_CloudMetadata tries the names and spellings by which a cloud's metadata is reached, and a redirect to it: nothing is
// dialled.
func TestT42_CloudMetadata(t *testing.T) {
	f := newFetcher(t, Settings{})
	var d dials
	f.dialer.intercept = d.intercept
	f.dialer.resolver = &names{answers: map[string][][]string{
		"metadata.google.internal": {{"169.254.169.254"}}, "metadata": {{"169.254.169.254"}}, "instance-data": {{"fd00:ec2::254"}},
		"metadata.azure.internal": {{"168.63.129.16"}}, "metadata.tencentyun.com": {{"169.254.0.23"}}, "both.test": {{"93.184.216.34", "169.254.169.254"}},
	}}
	for _, raw := range []string{
		"http://169.254.169.254/latest/meta-data/iam/security-credentials/", "http://169.254.170.2/v2/credentials", "http://[fd00:ec2::254]/latest/",
		"http://[fd20:ce::254]/computeMetadata/v1/", "http://100.100.100.200/latest/meta-data/", "http://168.63.129.16/machine", "http://192.0.0.192/latest/",
		"http://metadata.google.internal/computeMetadata/v1/", "http://METADATA.google.internal./", "http://metadata/", "http://instance-data/latest/",
		"http://metadata.azure.internal/", "http://metadata.tencentyun.com/", "http://both.test/", "http://2852039166/", "http://0xa9fea9fe/",
		"http://0251.0376.0251.0376/", "http://169.254.43518/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::169.254.169.254]/",
		"http://[2002:a9fe:a9fe::]/", "http://169。254。169。254/",
	} {
		_, err := f.Fetch(t.Context(), Input{URL: raw}, nil)
		wantKind(t, err, refusals...)
		if seen := d.take(); len(seen) > 0 {
			t.Errorf("%s: would have dialled %v", raw, seen)
		}
	}
	base, g := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	}), Settings{})
	_, err := g.Fetch(t.Context(), Input{URL: base}, nil)
	if e := wantKind(t, err, kindAddress); e.Addr != "169.254.169.254" {
		t.Errorf("a redirect: %v", err)
	}
}
