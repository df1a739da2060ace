package fetch

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

const maxURL = 8 << 10 // bytes of a URL we send

// parseTarget parses and checks a URL before anything is looked up (BI-23, BI-24). The same check runs on
// every redirect. What the host's name stands for is decided at the dial, not here.
func parseTarget(raw string, base *url.URL, g *guard) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, &Error{Kind: kindURL, URL: showRaw(raw), Msg: fmt.Sprintf("the URL has %d bytes; at most %d are sent", len(raw), maxURL)}
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil, &Error{Kind: kindURL, URL: showRaw(raw), Err: err, Msg: "the URL cannot be parsed; " + schemeText}
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, &Error{Kind: kindScheme, URL: showURL(u), Msg: schemeText}
	}
	if u.User != nil {
		return nil, &Error{Kind: kindURL, URL: showURL(u), Msg: "a URL with a user or password is not sent; remove what stands before the @"}
	}
	if u.Hostname() == "" || u.Opaque != "" {
		return nil, &Error{Kind: kindURL, URL: showURL(u), Msg: "the URL has no host; give one such as https://example.com/"}
	}
	port, err := targetPort(u)
	if err != nil {
		return nil, &Error{Kind: kindURL, URL: showURL(u), Err: err, Msg: "the URL's port is no number from 1 to 65535"}
	}
	if !g.allowsPort(port) {
		return nil, portError(u, port)
	}
	if isLocalName(u.Hostname()) && !g.allowsLoopback(port) {
		return nil, &Error{Kind: kindAddress, URL: showURL(u), Addr: u.Hostname(),
			Msg: fmt.Sprintf("%s The name %s is always this machine", privateText, u.Hostname())}
	}
	return u, nil
}

// targetPort is the port u is dialled on.
func targetPort(u *url.URL) (uint16, error) {
	text := u.Port()
	if text == "" {
		if u.Scheme == "https" {
			return 443, nil
		}
		return 80, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return uint16(n), err
}

// isLocalName tells whether host is localhost or below it, with or without trailing dots.
func isLocalName(host string) bool {
	host = strings.ToLower(strings.TrimRight(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func portError(u *url.URL, port uint16) error {
	return &Error{Kind: kindPort, URL: showURL(u),
		Msg: fmt.Sprintf("port %d is refused; only ports 80 and 443 are fetched, others by the setting allow", port)}
}
