package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// The budgets of one page (T7). They hold before a library sees the page.
const (
	maxMarkup     = 4 << 20 // bytes of HTML that are parsed
	maxTags       = 60_000  // tags and comments in the source
	maxAttrs      = 64      // attributes of one tag
	maxReopened   = 200_000 // nodes that unclosed formatting may make the parser repeat
	maxContainers = 32      // block containers inside one another; deeper ones are unwrapped
	maxDepth      = 100     // elements inside one another; deeper ones are unwrapped
	maxPrefixed   = 4 << 20 // bytes of quote marks and indents in front of lines
	maxCopied     = 64 << 20
	maxCells      = 20_000 // rows times columns of one table; a larger one is no table any more
	maxURLs       = 2 << 20
	maxOneURL     = 2 << 10
	maxAttr       = 512
	parseTime     = time.Second
)

// errBudget is what a page over a budget ends with.
var errBudget = errors.New("it is over a budget")

func overBudget(what string) error { return fmt.Errorf("%w: %s", errBudget, what) }

// scanBudget walks the tokens once, in linear time, and refuses what would make the parser build far more
// than the source holds: unclosed formatting is opened again in every block.
func scanBudget(ctx context.Context, markup string) error {
	if len(markup) > maxMarkup {
		return overBudget(fmt.Sprintf("%d bytes of HTML", len(markup)))
	}
	z := html.NewTokenizer(strings.NewReader(markup))
	tags, reopened, open := 0, 0, 0
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return nil
		case html.TextToken:
			reopened += open
			continue
		}
		if tags++; tags > maxTags {
			return overBudget(fmt.Sprintf("more than %d tags and comments", maxTags))
		}
		if tags%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		name, more := z.TagName()
		if isFormatting(string(name)) {
			if kind == html.EndTagToken {
				open = max(0, open-1)
			} else {
				open++
			}
		}
		if reopened += open; reopened > maxReopened {
			return overBudget("too much unclosed formatting")
		}
		for n := 0; more; n++ {
			if _, _, more = z.TagAttr(); n > maxAttrs {
				return overBudget(fmt.Sprintf("a tag with more than %d attributes", maxAttrs))
			}
		}
	}
}

func isFormatting(name string) bool {
	switch name {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

// budgetReader ends the parse with the call or after a time: the parser reads 4 KiB at a time.
type budgetReader struct {
	ctx   context.Context
	r     io.Reader
	until time.Time
}

func (b *budgetReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if time.Now().After(b.until) {
		return 0, overBudget("parsing it takes too long")
	}
	return b.r.Read(p)
}

// cleaner prepares a tree for the converters: see clean.
type cleaner struct {
	base     *url.URL
	urls     int
	prefixed int
	copied   int
}

// clean removes what is not content, keeps the attributes the converters read, makes URLs absolute, unwraps
// what is nested too deep, undoes tables that are too large, and refuses a page whose rendering would cost
// more than the budgets.
func clean(root *html.Node, page *url.URL) error {
	c := &cleaner{base: baseURL(root, page)}
	c.children(root, 0, 0, false)
	switch {
	case c.prefixed > maxPrefixed:
		return overBudget("too many lines inside quotes and lists")
	case c.copied > maxCopied:
		return overBudget("too much text inside nested elements")
	}
	return nil
}

func (c *cleaner) children(n *html.Node, containers, depth int, pre bool) {
	defer mergeText(n)
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch child.Type {
		case html.TextNode:
			c.text(child, containers, depth, pre)
		case html.ElementNode:
			next = c.element(child, next, containers, depth, pre)
		default:
			n.RemoveChild(child)
		}
		child = next
	}
}

// element cleans one element and returns what comes after it.
func (c *cleaner) element(n, next *html.Node, containers, depth int, pre bool) *html.Node {
	if n.Namespace != "" || isDropped(n.Data) || isHidden(n) {
		n.Parent.RemoveChild(n)
		return next
	}
	c.attributes(n)
	block := isContainer(n.Data)
	if (block && containers >= maxContainers) || depth >= maxDepth {
		return unwrap(n, block, next)
	}
	if block {
		containers++
	}
	c.prefixed += containers * prefixBytes
	c.children(n, containers, depth+1, pre || n.Data == "pre")
	if n.Data == "table" && tableCells(n) > maxCells {
		dissolve(n)
	}
	return next
}

// prefixBytes is what a container writes in front of each of its lines, at most: four blanks or a quote mark.
const prefixBytes = 4

func (c *cleaner) text(n *html.Node, containers, depth int, pre bool) {
	if pre {
		c.prefixed += strings.Count(n.Data, "\n") * containers * prefixBytes
	}
	c.copied += len(n.Data) * depth
}

// attributes keeps what the converters read, at a bounded length.
func (c *cleaner) attributes(n *html.Node) {
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src":
			if a.Val = c.absolute(a.Val); a.Val == "" {
				continue
			}
		case "class", "id", "role", "lang", "alt", "title", "name", "property", "content", "itemprop", "rel", "aria-hidden", "dir", "align", "scope", "type":
			if len(a.Val) > maxAttr {
				continue
			}
		case "colspan", "rowspan", "start":
			if v, err := strconv.Atoi(a.Val); err != nil || v < 0 || v > 1000 {
				continue
			}
		default:
			continue
		}
		kept = append(kept, a)
	}
	n.Attr = kept
}

// absolute resolves an address in the page; empty if it is none to follow, or the page has too many.
func (c *cleaner) absolute(ref string) string {
	ref = strings.TrimSpace(ref)
	if len(ref) > maxOneURL || c.urls > maxURLs {
		return ""
	}
	u, err := c.base.Parse(ref)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") {
		return ""
	}
	s := u.String()
	if len(s) > maxOneURL {
		return ""
	}
	c.urls += len(s)
	return s
}

// baseURL is the page's own address or what its base element says.
func baseURL(root *html.Node, page *url.URL) *url.URL {
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "base" {
			continue
		}
		if u, err := page.Parse(attr(n, "href")); err == nil && len(attr(n, "href")) <= maxOneURL && (u.Scheme == "http" || u.Scheme == "https") {
			return u
		}
		break
	}
	return page
}

// unwrap puts n's children in its place; a block leaves a line break behind it. It returns the first of what
// took n's place.
func unwrap(n *html.Node, block bool, next *html.Node) *html.Node {
	parent := n.Parent
	if block {
		br := &html.Node{Type: html.ElementNode, Data: "br"}
		parent.InsertBefore(br, n.NextSibling)
		next = br
	}
	first := n.FirstChild
	for n.FirstChild != nil {
		child := n.FirstChild
		n.RemoveChild(child)
		parent.InsertBefore(child, n)
	}
	parent.RemoveChild(n)
	if first != nil {
		return first
	}
	return next
}

// mergeText joins n's text children that stand side by side, in linear time: the converter does it in
// quadratic time.
func mergeText(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		next := child.NextSibling
		if child.Type != html.TextNode || next == nil || next.Type != html.TextNode {
			continue
		}
		var b strings.Builder
		b.WriteString(child.Data)
		for next != nil && next.Type == html.TextNode {
			b.WriteString(next.Data)
			n.RemoveChild(next)
			next = child.NextSibling
		}
		child.Data = b.String()
	}
}

// tableCells is what a table grows to when short rows are filled up and spans are spread.
func tableCells(table *html.Node) int {
	rows, widest, width := 0, 0, 0
	for n := range table.Descendants() {
		switch n.Data {
		case "tr":
			rows, width = rows+1, 0
		case "td", "th":
			width += max(1, atoi(attr(n, "colspan")))
			widest = max(widest, width)
			rows += max(0, atoi(attr(n, "rowspan"))-1)
		}
	}
	return rows * widest
}

// dissolve makes plain blocks of a table.
func dissolve(table *html.Node) {
	for n := range table.Descendants() {
		switch n.Data {
		case "thead", "tbody", "tfoot", "tr", "td", "th", "caption":
			n.Data, n.DataAtom = "div", 0
		}
	}
	table.Data, table.DataAtom = "div", 0
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// isDropped lists elements that are never content.
func isDropped(name string) bool {
	switch name {
	case "script", "style", "noscript", "template", "iframe", "object", "embed", "applet", "frame", "frameset", "noframes",
		"canvas", "audio", "video", "source", "track", "map", "area", "link", "input", "textarea", "select", "button", "dialog":
		return true
	}
	return false
}

// isHidden tells elements a browser does not show.
func isHidden(n *html.Node) bool {
	if n.Data == "html" || n.Data == "body" {
		return false
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			if len(a.Val) > maxAttr {
				continue
			}
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

// isContainer lists block elements that hold other blocks.
func isContainer(name string) bool {
	switch name {
	case "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "td", "th",
		"div", "section", "article", "main", "aside", "header", "footer", "nav", "form", "fieldset", "details", "figure",
		"center", "address", "menu", "dir":
		return true
	}
	return false
}
