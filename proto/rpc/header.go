package rpc

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/runes"
)

const (
	contentType  = "application/grpc"
	maxBlock     = 64 << 10 // bytes of a header block as sent
	maxFields    = 64 << 10 // bytes of its fields, each with what it costs to keep (RFC 7541, section 4.1)
	maxStatus    = 8 << 10  // bytes of a status's message as sent
	maxTimeValue = 99_999_999
	noTable      = 0x20 // the dynamic table has size 0 (RFC 7541, section 6.3)
)

// fields are the names and values of a header block that matter here.
type fields map[string]string

// fieldReader decodes header blocks. The state is the connection's: every block passes it, in order.
type fieldReader struct {
	dec  *hpack.Decoder
	into fields
	size int
}

func newFieldReader() *fieldReader {
	r := &fieldReader{}
	r.dec = hpack.NewDecoder(4096, r.emit)
	r.dec.SetMaxStringLength(maxFields)
	return r
}

func (r *fieldReader) emit(f hpack.HeaderField) {
	if r.size += int(f.Size()); r.size > maxFields {
		r.dec.SetEmitEnabled(false)
		return
	}
	r.into[f.Name] = f.Value
}

// read decodes one block.
func (r *fieldReader) read(block []byte) (fields, error) {
	r.into, r.size = fields{}, 0
	r.dec.SetEmitEnabled(true)
	if _, err := r.dec.Write(block); err != nil {
		return nil, broke(codeProtocol, "header: %v", err)
	}
	if err := r.dec.Close(); err != nil {
		return nil, broke(codeProtocol, "header: %v", err)
	}
	if r.size > maxFields {
		return nil, broke(codeCalm, "a header of more than %d bytes", maxFields)
	}
	return r.into, nil
}

// appendFields encodes a block that needs no state on the peer's side.
func appendFields(b []byte, pairs ...string) []byte {
	w := sliceWriter{b}
	enc := hpack.NewEncoder(&w)
	for i := 0; i < len(pairs); i += 2 {
		// Not indexed: the table of the peer is left as it is. A slice takes all that is written.
		_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: true})
	}
	return w.b
}

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// outcome is the status that the last block of a response carries. A nil error is success.
func (f fields) outcome() error {
	text, ok := f["grpc-status"]
	if !ok {
		return f.withoutStatus()
	}
	code, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return status.Errorf(codes.Internal, "rpc: the status %q is no number", clip(text))
	}
	if code == 0 {
		return nil
	}
	return status.Error(codes.Code(code), decodePercent(f["grpc-message"]))
}

// withoutStatus says what the HTTP status stands for.
func (f fields) withoutStatus() error {
	switch f[":status"] {
	case "", strconv.Itoa(http.StatusOK):
		return status.Error(codes.Internal, "rpc: the response ended without a status")
	case strconv.Itoa(http.StatusServiceUnavailable):
		return status.Error(codes.Unavailable, "rpc: HTTP status 503")
	default:
		return status.Errorf(codes.Unknown, "rpc: HTTP status %q is no answer of gRPC", clip(f[":status"]))
	}
}

// speaksGRPC checks the first block of a response.
func (f fields) speaksGRPC() error {
	switch {
	case f[":status"] != strconv.Itoa(http.StatusOK):
		return f.withoutStatus()
	case !isGRPC(f["content-type"]):
		return status.Errorf(codes.Unknown, "rpc: content type %q is not gRPC's", clip(f["content-type"]))
	case !isIdentity(f["grpc-encoding"]):
		return status.Errorf(codes.Internal, "rpc: encoding %q was not offered", clip(f["grpc-encoding"]))
	}
	return nil
}

func isGRPC(said string) bool {
	rest, ok := strings.CutPrefix(said, contentType)
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func isIdentity(encoding string) bool { return encoding == "" || encoding == "identity" }

// statusPairs are the fields of a status.
func statusPairs(err error) []string {
	s := status.Convert(err)
	pairs := []string{"grpc-status", strconv.Itoa(int(s.Code()))}
	if text := s.Message(); text != "" {
		pairs = append(pairs, "grpc-message", encodePercent(text))
	}
	return pairs
}

// timeoutUnits are gRPC's, from fine to coarse.
var timeoutUnits = []struct {
	name byte
	unit time.Duration
}{{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second}, {'M', time.Minute}, {'H', time.Hour}}

// formatTimeout rounds up to what eight digits can say.
func formatTimeout(d time.Duration) string {
	d = max(d, 1)
	for _, u := range timeoutUnits {
		n := d / u.unit
		if d%u.unit > 0 {
			n++
		}
		if n <= maxTimeValue {
			return strconv.FormatInt(int64(n), 10) + string(u.name)
		}
	}
	return strconv.Itoa(maxTimeValue) + "H"
}

// parseTimeout reads one; false if it is none.
func parseTimeout(s string) (time.Duration, bool) {
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if err != nil {
		return 0, false
	}
	for _, u := range timeoutUnits {
		if u.name != s[len(s)-1] {
			continue
		}
		if time.Duration(n) > math.MaxInt64/u.unit {
			return math.MaxInt64, true
		}
		return time.Duration(n) * u.unit, true
	}
	return 0, false
}

// encodePercent encodes a status's message, cut to about maxStatus.
func encodePercent(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	var b strings.Builder
	for i := 0; i < len(s) && (b.Len() < maxStatus || !utf8.RuneStart(s[i])); i++ {
		if c := s[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// decodePercent decodes one. What is malformed stays as it is; what is no text is made it.
func decodePercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), string(utf8.RuneError))
}

// clip shortens what a peer said for an error.
func clip(s string) string { return runes.Cut(s, 64) }
