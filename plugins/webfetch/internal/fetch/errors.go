package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// The kinds of failure, as they stand in the data of a tool error (BI-23).
const (
	kindInput      = "invalid_input"      // format, charset, offset or maxChars
	kindURL        = "invalid_url"        // cannot be parsed, no host, user info
	kindScheme     = "unsupported_scheme" // neither http nor https
	kindAddress    = "private_address"    // the guard refused the address
	kindPort       = "refused_port"       // the guard refused the port
	kindResolve    = "resolve"            // the name has no address
	kindConnect    = "connect"            // dial, TLS or a broken connection
	kindRedirects  = "too_many_redirects" // more than maxRedirects
	kindRedirect   = "redirect"           // a redirect to where we do not go
	kindTimeout    = "timeout"            // the total time limit
	kindCanceled   = "canceled"           // the caller went away
	kindEncoding   = "content_encoding"   // unknown, stacked or broken
	kindBomb       = "decompression_bomb" // the ratio limit (T8)
	kindType       = "unsupported_type"   // no text: PDF, image, archive
	kindConversion = "conversion"         // the page could not be read as text in time
)

const (
	maxShownURL   = 200 // bytes of a URL in a message
	maxShownCause = 300 // bytes of a cause: it may quote the server
	privateText   = "URL resolves to a private or reserved address."
	schemeText    = "only HTTP and HTTPS URLs are supported."
)

// Error is why a page could not be fetched. Its text is "fetch URL: cause" and ends with what can be done;
// its JSON is the data for the model: kind, url, address.
type Error struct {
	Kind string `json:"kind"`
	URL  string `json:"url"`               // as it may be shown: no user info, at most maxShownURL bytes
	Addr string `json:"address,omitempty"` // the address that was refused, if any
	Msg  string `json:"-"`
	Err  error  `json:"-"`
}

func (e *Error) Error() string { return fmt.Sprintf("fetch %s: %s", e.URL, e.Msg) }
func (e *Error) Unwrap() error { return e.Err }

// transferError names the cause of a failed request or read: the call's end first, then refusals from the
// dial, then everything else as a connection fault.
func transferError(ctx context.Context, u *url.URL, limit time.Duration, doing string, err error) error {
	shown := showURL(u)
	if ctx.Err() != nil {
		switch {
		case errors.Is(context.Cause(ctx), errTotalTime):
			return &Error{Kind: kindTimeout, URL: shown, Err: context.DeadlineExceeded,
				Msg: fmt.Sprintf("no complete answer within %s (while %s); try again, or raise the setting timeout", limit, doing)}
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &Error{Kind: kindTimeout, URL: shown, Err: context.DeadlineExceeded,
				Msg: fmt.Sprintf("no complete answer before the call's deadline (while %s); try again with more time", doing)}
		}
		return &Error{Kind: kindCanceled, URL: shown, Err: ctx.Err(), Msg: "canceled while " + doing}
	}
	var fe *Error
	if errors.As(err, &fe) {
		if fe.URL == "" {
			cp := *fe
			cp.URL = shown
			return &cp
		}
		return fe
	}
	kind := kindConnect
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() { // of the dial, the handshake or the header
		kind = kindTimeout
	}
	return &Error{Kind: kind, URL: shown, Err: err,
		Msg: fmt.Sprintf("%s: %s; check that the site is up and the URL is right", doing, cutBytes(err.Error(), maxShownCause))}
}

// showURL is u for a message: without a password or a user, cut.
func showURL(u *url.URL) string {
	cp := *u
	cp.User = nil
	return cutBytes(cp.String(), maxShownURL)
}

// showRaw is a URL that may not parse, for a message: what stands before an @ may be a password and is left
// out.
func showRaw(raw string) string {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		raw = "..." + raw[at:]
	}
	return fmt.Sprintf("%q", cutBytes(raw, 100))
}

func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
