package fetch

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	maxTitle       = 300 // code points
	maxContentType = 200 // bytes
	sniffLen       = 1024
)

// render makes the output of a body: what kind of content it is, in which character set, as which text, which
// part.
func (f *Fetcher) render(ctx context.Context, res *response, b body, opt options) (*Output, error) {
	status := res.http.StatusCode
	out := &Output{
		URL: res.url.String(), Status: status, StatusText: http.StatusText(status), OK: status >= 200 && status < 300,
		ContentType: cutBytes(res.http.Header.Get("Content-Type"), maxContentType), Redirects: res.redirects,
	}
	kind := classify(out.ContentType, b.bytes)
	if kind.binary {
		if out.OK {
			return nil, &Error{Kind: kindType, URL: showURL(res.url),
				Msg: fmt.Sprintf("the content is %s (%d bytes); only HTML, text, JSON and XML are read", kind.media, len(b.bytes))}
		}
		out.Format = formatText
		out.Note = fmt.Sprintf("the body (%s) is no text and was left out", kind.media)
		return out, nil
	}
	text, name, err := decodeText(b.bytes, out.ContentType, opt.charset)
	if err != nil {
		return nil, &Error{Kind: kindInput, URL: showURL(res.url), Err: err, Msg: err.Error()}
	}
	if b.cut {
		text = strings.TrimRight(text, "\ufffd") // half a character
	}
	out.Charset = name
	doc := document{content: text, format: formatText}
	switch {
	case opt.format == formatRaw:
		doc.format = formatRaw
	case kind.html:
		if doc, err = f.convert.html(ctx, text, res.url, opt); err != nil {
			return nil, transferError(ctx, res.url, f.timeout, "converting the page", err)
		}
	case kind.media == "text/markdown" && opt.format == formatMarkdown:
		doc.format = formatMarkdown
	}
	out.fill(doc, b.cut, opt)
	return out, nil
}

// fill puts the asked part of doc into the output. more says that the page had more than was read.
func (out *Output) fill(doc document, more bool, opt options) {
	part, next, total := slice(doc.content, opt.offset, opt.maxChars)
	out.Title, _, _ = slice(doc.title, 0, maxTitle)
	out.Format, out.Note = doc.format, doc.note
	out.Links, out.LinksOmitted = doc.links, doc.omitted
	out.Content = part
	out.Truncated = more || next < total
	if next < total {
		out.NextOffset = &next
	}
	if !more {
		out.TotalChars = &total
	}
	if opt.offset > 0 && opt.offset >= total {
		out.Note = strings.TrimPrefix(out.Note+fmt.Sprintf("; offset %d is beyond the content's %d characters", opt.offset, total), "; ")
	}
}

// slice is the part of s from the offset-th code point, at most limit of them; next is the offset behind it
// and total the length of s. Parts taken one after the other make up s.
func slice(s string, offset, limit int) (part string, next, total int) {
	total = utf8.RuneCountInString(s)
	if offset >= total {
		return "", total, total
	}
	from := byteOffset(s, offset)
	next = min(total, offset+limit)
	return s[from : from+byteOffset(s[from:], next-offset)], next, total
}

// byteOffset is where the n-th code point of s starts; the end if there are fewer.
func byteOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// contentKind is what a body is.
type contentKind struct {
	media  string // lower case, without parameters
	html   bool
	binary bool // not to be shown as text
}

// classify goes by the declared type; by the bytes where none or a meaningless one is declared. Text full of
// zero bytes is binary unless its character set has them.
func classify(contentType string, b []byte) contentKind {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media == "" || media == "application/octet-stream" || !strings.Contains(media, "/") {
		media, params, _ = mime.ParseMediaType(http.DetectContentType(b))
	}
	k := contentKind{media: media}
	switch {
	case len(b) == 0:
		return k
	case media == "text/html" || media == "application/xhtml+xml":
		k.html = true
	case !isTextMedia(media):
		k.binary = true
	}
	wide := strings.HasPrefix(strings.ToLower(params["charset"]), "utf-16") || bytes.HasPrefix(b, []byte{0xfe, 0xff}) || bytes.HasPrefix(b, []byte{0xff, 0xfe})
	if !wide && bytes.IndexByte(b[:min(len(b), sniffLen)], 0) >= 0 {
		k.binary, k.html = true, false
	}
	return k
}

func isTextMedia(media string) bool {
	if strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml") {
		return media != "image/svg+xml"
	}
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl", "application/sql",
		"application/x-sh", "application/graphql", "application/x-www-form-urlencoded":
		return true
	}
	return false
}
