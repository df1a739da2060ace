package fetch

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/plugins/internal/upstream"
)

func TestBI27_Redirects(t *testing.T) {
	base, f := serve(t, upstream.Handler(), Settings{})
	out, err := f.Fetch(t.Context(), Input{URL: base + "/pages/redirect/2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Redirect{{base + "/pages/redirect/2", 302}, {base + "/pages/redirect/1", 302}, {base + "/pages/redirect/0", 302}}
	if diff := cmp.Diff(want, out.Redirects); diff != "" || out.URL != base+"/pages/article" || !out.OK {
		t.Errorf("final %s, redirects %s", out.URL, diff)
	}
	if _, err := f.Fetch(t.Context(), Input{URL: base + "/pages/redirect/4"}, nil); err != nil {
		t.Errorf("five redirects: %v", err)
	}
	for _, path := range []string{"/pages/redirect/5", "/pages/redirect/loop"} {
		_, err := f.Fetch(t.Context(), Input{URL: base + path}, nil)
		if wantKind(t, err, kindRedirects); !strings.Contains(err.Error(), "Too many redirects. Maximum is 5.") {
			t.Error(err)
		}
	}
}

// TestBI24_RedirectTargets redirects to what is refused: nothing of it is dialled.
func TestBI24_RedirectTargets(t *testing.T) {
	target := ""
	base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusMovedPermanently)
	}), Settings{})
	for location, kind := range map[string]string{
		"http://169.254.169.254/latest/meta-data/": kindAddress, "http://127.0.0.1/": kindAddress, "//127.0.0.1/": kindAddress,
		"http://[::ffff:127.0.0.1]/": kindAddress, "http://0.0.0.0/": kindAddress, "http://localhost./": kindAddress,
		"http://[fd00:ec2::254]/": kindAddress, "https://2002:7f00:1::/": kindURL, "http://10.0.0.1:22/": kindPort,
		"file:///etc/passwd": kindScheme, "javascript:alert(1)": kindScheme, "gopher://x/": kindScheme,
		"http://user:secret@example.com/": kindURL, "http://example.com\\@127.0.0.1/": kindURL, "http://%zz/": kindURL,
	} {
		target = location
		var d dials
		own := strings.TrimPrefix(base, "http://")
		f.dialer.intercept = func(network, address string) error {
			if address == own {
				return nil
			}
			return d.intercept(network, address)
		}
		_, err := f.Fetch(t.Context(), Input{URL: base}, nil)
		wantKind(t, err, kind)
		if seen := d.take(); len(seen) > 0 {
			t.Errorf("%s: would have dialled %v", location, seen)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in %v", location, err)
		}
		if kind == kindScheme && !strings.Contains(err.Error(), "Redirect target must use HTTP or HTTPS.") {
			t.Error(err)
		}
	}
}

// TestBI25_Rebinding has a name whose second answer is private: the redirect to it is refused.
func TestBI25_Rebinding(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer server.Close()
	own := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(own, ":")
	f := newFetcher(t, Settings{Allow: []string{own}})
	r := &names{answers: map[string][][]string{"rebind.test": {{"127.0.0.1"}, {"10.9.8.7"}}}}
	f.dialer.resolver = r
	_, err := f.Fetch(t.Context(), Input{URL: "http://rebind.test:" + port + "/"}, nil)
	if fe := wantKind(t, err, kindAddress, kindPort); !strings.Contains(fe.Addr, "10.9.8.7") || r.lookups != 2 {
		t.Errorf("%d lookups: %v", r.lookups, err)
	}
}

func TestRedirectFromHTTPSToHTTP(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, plain.URL, http.StatusFound)
			return
		}
		fmt.Fprint(w, "secure")
	}))
	defer secure.Close()
	f := newFetcher(t, Settings{Allow: []string{strings.TrimPrefix(plain.URL, "http://"), strings.TrimPrefix(secure.URL, "https://")}})
	if _, err := f.Fetch(t.Context(), Input{URL: secure.URL}, nil); err == nil {
		t.Error("an unknown certificate was accepted")
	}
	f.tls = &tls.Config{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	if out, err := f.Fetch(t.Context(), Input{URL: secure.URL}, nil); err != nil || out.Content != "secure" {
		t.Fatalf("%+v, %v", out, err)
	}
	_, err := f.Fetch(t.Context(), Input{URL: secure.URL + "/down"}, nil)
	if wantKind(t, err, kindRedirect); !strings.Contains(err.Error(), plain.URL) {
		t.Error(err)
	}
}

func TestBI27_RedirectWithoutLocation(t *testing.T) {
	base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusFound)
		fmt.Fprint(w, "nowhere to go")
	}), Settings{})
	out, err := f.Fetch(t.Context(), Input{URL: base}, nil)
	if err != nil || out.Status != 302 || out.OK || out.Content != "nowhere to go" {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestRequestIsPlain checks what is sent: no cookie of an earlier answer, no user, no fragment, our own
// headers.
func TestRequestIsPlain(t *testing.T) {
	var got []*http.Request
	base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b?q=1", http.StatusSeeOther)
		}
	}), Settings{UserAgent: "tester/1"})
	out, err := f.Fetch(t.Context(), Input{URL: base + "/a#part"}, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d requests, %v", len(got), err)
	}
	for _, r := range got {
		want := http.Header{"User-Agent": {"tester/1"}, "Accept": {acceptTypes}, "Accept-Encoding": {acceptCodings}, "Connection": {"close"}}
		if diff := cmp.Diff(want, r.Header); diff != "" || r.Method != "GET" || strings.Contains(r.RequestURI, "#") {
			t.Errorf("%s %s: %s", r.Method, r.RequestURI, diff)
		}
	}
	if out.URL != base+"/b?q=1" || out.Status != 200 || out.Content != "" {
		t.Errorf("%+v", out)
	}
}
