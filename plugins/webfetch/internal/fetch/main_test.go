package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts h on loopback and returns its URL and a fetcher that may reach it.
func serve(t *testing.T, h http.Handler, s Settings) (string, *Fetcher) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.Allow = append(s.Allow, strings.TrimPrefix(server.URL, "http://"))
	return server.URL, newFetcher(t, s)
}

func newFetcher(t *testing.T, s Settings) *Fetcher {
	t.Helper()
	f, err := s.Fetcher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// dials records what would have been dialled and connects nothing.
type dials struct {
	mu   sync.Mutex
	seen []string
}

var errIntercepted = errors.New("intercepted: nothing was dialled")

func (d *dials) intercept(_, address string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, address)
	return errIntercepted
}

func (d *dials) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := d.seen
	d.seen = nil
	return seen
}

// names is a resolver with fixed answers: one list a lookup, the last one for ever.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	lookups int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups++
	rounds := n.answers[host]
	if len(rounds) == 0 {
		return nil, errors.New("no such host")
	}
	if len(rounds) > 1 {
		n.answers[host] = rounds[1:]
	}
	var ips []netip.Addr
	for _, text := range rounds[0] {
		ips = append(ips, netip.MustParseAddr(text))
	}
	return ips, nil
}

// wantKind fails unless err is an *Error of one of the kinds, and returns it.
func wantKind(t *testing.T, err error, kinds ...string) *Error {
	t.Helper()
	var fe *Error
	if !errors.As(err, &fe) {
		t.Fatalf("error %v, want one of kind %v", err, kinds)
	}
	for _, k := range kinds {
		if fe.Kind == k {
			return fe
		}
	}
	t.Fatalf("kind %s (%v), want %v", fe.Kind, err, kinds)
	return nil
}
