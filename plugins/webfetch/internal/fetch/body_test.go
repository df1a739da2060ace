package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// packers are the encodings that are undone; deflate in both of its readings.
var packers = map[string]func(io.Writer) io.WriteCloser{
	"gzip":        func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"x-gzip":      func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate":     func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"deflate raw": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 5); return z },
	"br":          func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd":        func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z },
}

func pack(t *testing.T, name string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := packers[name](&b)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// encodedServer answers every request with body under these Content-Encoding headers.
func encodedServer(t *testing.T, body []byte, s Settings, encodings ...string) (string, *Fetcher) {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header()["Content-Encoding"] = encodings
		_, _ = w.Write(body)
	}), s)
}

func TestT8_Encodings(t *testing.T) {
	text := strings.Repeat("The tide rises, the tide falls. ", 1000)
	for name := range packers {
		header, _, _ := strings.Cut(name, " ")
		base, f := encodedServer(t, pack(t, name, []byte(text)), Settings{}, header)
		out, err := f.Fetch(t.Context(), Input{URL: base, MaxChars: limitChars}, nil)
		if err != nil || out.Content != text {
			t.Errorf("%s: %v", name, err)
		}
		base, f = encodedServer(t, nil, Settings{}, header)
		if out, err = f.Fetch(t.Context(), Input{URL: base}, nil); err != nil || out.Content != "" {
			t.Errorf("%s without a body: %v", name, err)
		}
		base, f = encodedServer(t, pack(t, name, []byte(text))[:20], Settings{}, header)
		_, err = f.Fetch(t.Context(), Input{URL: base}, nil)
		wantKind(t, err, kindEncoding)
	}
}

// TestT8_Bombs packs 16 MiB of one letter: read no further than the ratio limit, or the byte limit where that
// is less.
func TestT8_Bombs(t *testing.T) {
	letters := bytes.Repeat([]byte("a"), 16<<20)
	for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
		packed := pack(t, name, letters)
		base, f := encodedServer(t, packed, Settings{MaxBytes: limitMaxBytes}, name)
		_, err := f.Fetch(t.Context(), Input{URL: base}, nil)
		if wantKind(t, err, kindBomb); !strings.Contains(err.Error(), "100 times") {
			t.Error(err)
		}
		base, f = encodedServer(t, packed, Settings{MaxBytes: ratioFrom / 2}, name)
		out, err := f.Fetch(t.Context(), Input{URL: base, Offset: ratioFrom/2 - 10}, nil)
		if err != nil || out.Content != strings.Repeat("a", 10) || out.TotalChars != nil || !out.Truncated || out.NextOffset != nil {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

func TestT8_EncodingsRefused(t *testing.T) {
	twice := pack(t, "gzip", pack(t, "gzip", []byte("x")))
	for _, encodings := range [][]string{{"gzip, gzip"}, {"gzip", "br"}, {"identity, gzip, deflate"}, {"compress"}, {"exotic"}} {
		base, f := encodedServer(t, twice, Settings{}, encodings...)
		_, err := f.Fetch(t.Context(), Input{URL: base}, nil)
		wantKind(t, err, kindEncoding)
	}
	base, f := encodedServer(t, []byte("plain"), Settings{}, "identity")
	if out, err := f.Fetch(t.Context(), Input{URL: base}, nil); err != nil || out.Content != "plain" {
		t.Errorf("identity: %v", err)
	}
}

// TestT8_EndlessBodies never end by themselves: plain chunks, and gzip blocks that hold nothing. Both are
// read to a limit.
func TestT8_EndlessBodies(t *testing.T) {
	empty := bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1000) // stored blocks of no bytes
	for name, s := range map[string]struct {
		head, unit []byte
		encoding   string
	}{"chunks": {nil, bytes.Repeat([]byte("x"), 8192), ""}, "empty blocks": {nil, empty, "deflate"}} {
		base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if s.encoding != "" {
				w.Header().Set("Content-Encoding", s.encoding)
			}
			for r.Context().Err() == nil {
				if _, err := w.Write(s.unit); err != nil {
					return
				}
			}
		}), Settings{MaxBytes: 100_000})
		out, err := f.Fetch(t.Context(), Input{URL: base, MaxChars: limitChars}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !out.Truncated || out.TotalChars != nil || out.NextOffset != nil || len(out.Content) > 100_000 {
			t.Errorf("%s: %d bytes, %+v", name, len(out.Content), out.NextOffset)
		}
	}
}

// TestB54_TotalDeadline stalls in every phase: the fetch ends by its own limit, and the message names the
// phase.
func TestB54_TotalDeadline(t *testing.T) {
	for phase, s := range map[string]struct{ send, message string }{
		"no answer":       {"", "waiting for an answer"},
		"half the header": {"HTTP/1.1 200 OK\r\nContent-Type: text/pl", "waiting for an answer"},
		"half the body":   {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhello", "reading the body"},
	} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			addr := stalled(t, s.send)
			f := newFetcher(t, Settings{Allow: []string{addr}, Timeout: "2s"}) // enough for what is sent to arrive
			_, err := f.Fetch(t.Context(), Input{URL: "http://" + addr}, nil)
			if wantKind(t, err, kindTimeout); !strings.Contains(err.Error(), s.message) || !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	t.Run("slow header", func(t *testing.T) {
		addr := dripping(t, "HTTP/1.1 200 OK\r\nX-Slow: "+strings.Repeat("a", 10_000), 5*time.Millisecond)
		f := newFetcher(t, Settings{Allow: []string{addr}, Timeout: "200ms"})
		_, err := f.Fetch(t.Context(), Input{URL: "http://" + addr}, nil)
		wantKind(t, err, kindTimeout)
	})
}

// TestB54_CallDeadline has a call that ends before the fetch's own limit.
func TestB54_CallDeadline(t *testing.T) {
	addr := stalled(t, "")
	f := newFetcher(t, Settings{Allow: []string{addr}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := f.Fetch(ctx, Input{URL: "http://" + addr}, nil)
	if wantKind(t, err, kindTimeout); !strings.Contains(err.Error(), "before the call's deadline") {
		t.Error(err)
	}
}

// TestServerFaults has connections that break and headers that are none: the cause is told, at a bounded
// length.
func TestServerFaults(t *testing.T) {
	for _, answer := range []string{"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 9000) + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", maxHeaderBytes+5000) + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhello"} {
		addr := accept(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
		})
		f := newFetcher(t, Settings{Allow: []string{addr}})
		_, err := f.Fetch(t.Context(), Input{URL: "http://" + addr}, nil)
		if wantKind(t, err, kindConnect); len(err.Error()) > 600 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
}

// TestB54_Abort cancels the call in every phase: the fetch returns, and the server sees the connection end.
func TestB54_Abort(t *testing.T) {
	t.Run("lookup", func(t *testing.T) {
		f := newFetcher(t, Settings{})
		ctx, cancel := context.WithCancel(t.Context())
		f.dialer.resolver = lookupFunc(func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() })
		_, err := f.Fetch(ctx, Input{URL: "http://example.com/"}, nil)
		if wantKind(t, err, kindCanceled); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("handshake", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		addr := accept(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096)) // the client's hello
			cancel()
			_, _ = io.Copy(io.Discard, conn)
		})
		f := newFetcher(t, Settings{Allow: []string{addr}})
		_, err := f.Fetch(ctx, Input{URL: "https://" + addr}, nil)
		wantKind(t, err, kindCanceled)
	})
	t.Run("body", func(t *testing.T) {
		gone := make(chan struct{})
		base, f := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "the first part")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(gone)
		}), Settings{})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := f.Fetch(ctx, Input{URL: base}, func(read, _ int64) {
			if read > 0 {
				cancel()
			}
		})
		if wantKind(t, err, kindCanceled); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-gone
	})
}

func TestProgress(t *testing.T) {
	base, f := encodedServer(t, bytes.Repeat([]byte("x"), 3_000_000), Settings{})
	var reads []int64
	if _, err := f.Fetch(t.Context(), Input{URL: base}, func(read, total int64) { reads = append(reads, read, total) }); err != nil {
		t.Fatal(err)
	}
	if n := len(reads); n < 4 || reads[n-2] != 3_000_000 || reads[n-1] != 3_000_000 {
		t.Errorf("progress %v", reads)
	}
}

type lookupFunc func(ctx context.Context) error

func (l lookupFunc) LookupNetIP(ctx context.Context, _, _ string) (ips []netip.Addr, err error) {
	return nil, l(ctx)
}

// stalled accepts one connection, reads a little, sends text and then nothing until the other side is gone.
func stalled(t *testing.T, text string) string {
	return accept(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	})
}

// dripping sends text one byte at a time.
func dripping(t *testing.T, text string, every time.Duration) string {
	return accept(t, func(conn net.Conn) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := range text {
			<-tick.C
			if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
				return
			}
		}
	})
}

func accept(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	// Ends when the client is gone or the cleanup closes the listener, and is joined there.
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serve(conn)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}
