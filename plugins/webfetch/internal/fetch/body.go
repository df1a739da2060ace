package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	maxRatio      = 100     // decoded bytes a sent byte, above ratioFrom (T8)
	ratioFrom     = 1 << 20 // decoded bytes below which no ratio is judged
	sentSlack     = 1 << 20 // bytes that may be sent beyond the decoded limit: framing and incompressible data
	zstdWindow    = 8 << 20 // RFC 9659
	progressEvery = 100 * time.Millisecond
	readChunk     = 32 << 10
)

// body is a decoded body.
type body struct {
	bytes []byte
	cut   bool // there was more than the limit
}

// readBody reads and decodes a body up to max decoded bytes. A longer body is cut, a decompression bomb is an
// error.
func readBody(resp *http.Response, max int64, progress func(read, total int64)) (body, error) {
	raw := &countingReader{r: resp.Body, left: max + sentSlack}
	decoded, err := decode(resp.Header.Values("Content-Encoding"), raw)
	if err != nil {
		return body{}, err
	}
	defer decoded.Close()
	m := meter{raw: raw, total: max0(resp.ContentLength), report: progress, encoded: decoded != io.ReadCloser(raw)}
	var buf bytes.Buffer
	chunk := make([]byte, readChunk)
	for {
		n, err := decoded.Read(chunk)
		if room := max - int64(buf.Len()); int64(n) > room {
			buf.Write(chunk[:room])
			m.done(int64(buf.Len()))
			return body{bytes: buf.Bytes(), cut: true}, nil
		}
		buf.Write(chunk[:n])
		if err := m.read(int64(buf.Len())); err != nil {
			return body{}, err
		}
		switch {
		case err == io.EOF, err != nil && raw.n == 0 && raw.err == nil: // no body is no broken body
			m.done(int64(buf.Len()))
			return body{bytes: buf.Bytes()}, nil
		case err != nil && errors.Is(raw.err, errSentLimit):
			return body{bytes: buf.Bytes(), cut: true}, nil
		case err != nil && raw.err == nil:
			return body{}, &Error{Kind: kindEncoding, Err: err, Msg: fmt.Sprintf("the body is not what its Content-Encoding says: %v", err)}
		case err != nil:
			return body{}, err
		}
	}
}

// meter judges the ratio and reports progress.
type meter struct {
	raw     *countingReader
	encoded bool
	total   int64
	report  func(read, total int64)
	last    time.Time
}

func (m *meter) read(decoded int64) error {
	if m.encoded && decoded > ratioFrom && decoded > maxRatio*m.raw.n {
		return &Error{Kind: kindBomb,
			Msg: fmt.Sprintf("%d bytes unpack to more than %d times as much; such a body is not read", m.raw.n, maxRatio)}
	}
	if m.report != nil && time.Since(m.last) >= progressEvery {
		m.last = time.Now()
		m.report(decoded, m.expected(decoded))
	}
	return nil
}

func (m *meter) done(decoded int64) {
	if m.report != nil {
		m.report(decoded, decoded)
	}
}

// expected is the announced length, which counts sent bytes: it says nothing about a compressed body.
func (m *meter) expected(decoded int64) int64 {
	if m.encoded || m.total < decoded {
		return 0
	}
	return m.total
}

func max0(n int64) int64 { return max(n, 0) }

// errSentLimit ends the reading of a body that sends more than it may.
var errSentLimit = errors.New("sent more than the limit")

// countingReader counts sent bytes and ends at a limit, so that an encoding that yields nothing cannot go on
// for ever.
type countingReader struct {
	r    io.ReadCloser
	n    int64
	left int64
	err  error // what the connection answered, if not io.EOF
}

func (c *countingReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.err = errSentLimit
		return 0, errSentLimit
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.left -= int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// Close leaves the connection's own body to whoever opened it.
func (c *countingReader) Close() error { return nil }

// decode undoes at most one content encoding (T8).
func decode(headers []string, raw *countingReader) (io.ReadCloser, error) {
	var codings []string
	for _, h := range headers {
		for _, c := range strings.Split(h, ",") {
			if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
				codings = append(codings, c)
			}
		}
	}
	if len(codings) == 0 {
		return raw, nil
	}
	if len(codings) > 1 {
		return nil, &Error{Kind: kindEncoding, Msg: fmt.Sprintf("the body has %d content encodings on top of each other; at most one is undone", len(codings))}
	}
	switch codings[0] {
	case "gzip", "x-gzip":
		return &lazyReader{open: func() (io.ReadCloser, error) { return gzip.NewReader(raw) }}, nil
	case "deflate":
		return &lazyReader{open: func() (io.ReadCloser, error) { return inflate(raw) }}, nil
	case "br":
		return io.NopCloser(brotli.NewReader(raw)), nil
	case "zstd":
		d, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, &Error{Kind: kindEncoding, Msg: fmt.Sprintf("content encoding %s is not known; gzip, deflate, br and zstd are", cutBytes(fmt.Sprintf("%q", codings[0]), 60))}
}

// inflate reads deflate as the standard has it (zlib), or raw as some servers send it.
func inflate(r io.Reader) (io.ReadCloser, error) {
	br := bufio.NewReader(r)
	head, err := br.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(br)
	}
	return flate.NewReader(br), nil
}

// lazyReader opens a decoder at the first read: the opening itself reads the body. An empty body stays empty.
type lazyReader struct {
	open func() (io.ReadCloser, error)
	r    io.ReadCloser
	err  error
}

func (l *lazyReader) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.r == nil {
		r, err := l.open()
		if err != nil { // r is then no nil interface but one around a nil reader
			l.err = err
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}

func (l *lazyReader) Close() error {
	if l.r == nil {
		return nil
	}
	return l.r.Close()
}
