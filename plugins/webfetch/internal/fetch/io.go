package fetch

import (
	"fmt"

	"golang.org/x/net/html/charset"
)

const (
	defaultChars = 20_000
	limitChars   = 200_000
)

// Formats of the content.
const (
	formatMarkdown = "markdown"
	formatText     = "text"
	formatRaw      = "raw"
)

// Input is what the model writes.
type Input struct {
	URL       string `json:"url" jsonschema:"minLength=1,maxLength=8192" jsonschema_description:"The http or https URL to fetch"`
	Format    string `json:"format,omitempty" jsonschema:"enum=markdown,enum=text,enum=raw,default=markdown" jsonschema_description:"markdown and text: the readable part of an HTML page; raw: the body as sent. Other text such as JSON is returned as it is in every format"`
	WholePage bool   `json:"wholePage,omitempty" jsonschema_description:"Convert the whole page with navigation and sidebars and not only its main article"`
	Links     bool   `json:"links,omitempty" jsonschema_description:"Also return the links of the converted part"`
	MaxChars  int    `json:"maxChars,omitempty" jsonschema:"minimum=1,maximum=200000,default=20000" jsonschema_description:"Characters of content to return at most"`
	Offset    int    `json:"offset,omitempty" jsonschema:"minimum=0" jsonschema_description:"Character to start from: the nextOffset of the call before"`
	Charset   string `json:"charset,omitempty" jsonschema:"maxLength=40" jsonschema_description:"Character set to read the body in when the page names a wrong one; such as windows-1251"`
}

// Output is what a fetch found. Offsets and totals count Unicode code points of the content.
type Output struct {
	URL          string     `json:"url" jsonschema_description:"The final URL after redirects"`
	Status       int        `json:"status"`
	StatusText   string     `json:"statusText"`
	OK           bool       `json:"ok" jsonschema_description:"Whether the status is 2xx"`
	ContentType  string     `json:"contentType,omitempty"`
	Charset      string     `json:"charset,omitempty" jsonschema_description:"Character set the body was read in"`
	Title        string     `json:"title,omitempty"`
	Format       string     `json:"format" jsonschema:"enum=markdown,enum=text,enum=raw" jsonschema_description:"What content is: text in place of markdown where a page cannot be converted"`
	Content      string     `json:"content"`
	Truncated    bool       `json:"truncated" jsonschema_description:"Whether the page has more than this content"`
	NextOffset   *int       `json:"nextOffset,omitempty" jsonschema_description:"Offset to go on from; absent when nothing more can be had"`
	TotalChars   *int       `json:"totalChars,omitempty" jsonschema_description:"Characters of the whole content; absent when the page is longer than the plugin reads"`
	Links        []Link     `json:"links,omitempty"`
	LinksOmitted int        `json:"linksOmitted,omitempty" jsonschema_description:"Links beyond the first 200"`
	Redirects    []Redirect `json:"redirects,omitempty" jsonschema_description:"The URLs that redirected and in which order"`
	Note         string     `json:"note,omitempty" jsonschema_description:"What was done differently from what was asked"`
}

// Link is one link of a page.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Redirect is one hop: the URL that redirected and the status it did it with.
type Redirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

// options are an Input with its defaults.
type options struct {
	format    string
	wholePage bool
	links     bool
	maxChars  int
	offset    int
	charset   string
}

// options checks what the schema checks too, for callers without a host.
func (in Input) options() (options, error) {
	o := options{format: in.Format, wholePage: in.WholePage, links: in.Links, maxChars: in.MaxChars, offset: in.Offset, charset: in.Charset}
	fault := func(format string, args ...any) (options, error) {
		return options{}, &Error{Kind: kindInput, URL: showRaw(in.URL), Msg: fmt.Sprintf(format, args...)}
	}
	switch o.format {
	case "":
		o.format = formatMarkdown
	case formatMarkdown, formatText, formatRaw:
	default:
		return fault("format %q is not known; use markdown, text or raw", cutBytes(o.format, 40))
	}
	if o.maxChars == 0 {
		o.maxChars = defaultChars
	}
	if o.maxChars < 0 || o.maxChars > limitChars {
		return fault("maxChars %d is not from 1 to %d", o.maxChars, limitChars)
	}
	if o.offset < 0 {
		return fault("offset %d is negative", o.offset)
	}
	if o.charset != "" {
		if e, _ := charset.Lookup(o.charset); e == nil {
			return fault("charset %q is not known; use a name such as utf-8, windows-1251 or shift_jis", cutBytes(o.charset, 40))
		}
	}
	return o, nil
}
