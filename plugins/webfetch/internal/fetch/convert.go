package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"codeberg.org/readeck/go-readability/v2/render"
	"golang.org/x/net/html"
)

// minArticle is how many code points an article needs, blanks aside; a shorter one is taken for a miss and
// the whole page is converted.
const minArticle = 200

// document is a page as text.
type document struct {
	title   string
	content string
	format  string // what content is
	links   []Link
	omitted int
	note    string
}

// pageConverter turns HTML into text, at most a few pages at once so that other calls keep a core. The
// libraries underneath take no context, so every page is held to the budgets of clean.go before they see it;
// a page over one is stripped of its tags instead, which is linear.
type pageConverter struct {
	slots   chan struct{}
	running sync.WaitGroup
}

func newPageConverter() *pageConverter {
	return &pageConverter{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
}

// html converts markup. It returns when ctx ends, at the latest; the conversion itself then ends by its own
// budgets. The error is ctx's.
func (c *pageConverter) html(ctx context.Context, markup string, page *url.URL, opt options) (document, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return document{}, ctx.Err()
	}
	done := make(chan document, 1)
	// The goroutine ends when the page is converted: within the budgets of clean.go, whatever the page is.
	// wait joins it.
	c.running.Go(func() {
		defer func() { <-c.slots }()
		done <- convertPage(ctx, markup, page, opt)
	})
	select {
	case doc := <-done:
		return doc, ctx.Err()
	case <-ctx.Done():
		return document{}, ctx.Err()
	}
}

// wait returns when no conversion is running.
func (c *pageConverter) wait() { c.running.Wait() }

// convertPage never fails: what cannot be converted is stripped of its tags, with a note that says why.
func convertPage(ctx context.Context, markup string, page *url.URL, opt options) document {
	doc, err := convertTree(ctx, markup, page, opt)
	if err == nil || ctx.Err() != nil {
		return doc
	}
	doc = stripTags(ctx, markup)
	doc.note = fmt.Sprintf("the page was only stripped of its tags: %v", err)
	return doc
}

// convertTree is the real way: parse, clean, find the article, render. A panic of a library is an error.
func convertTree(ctx context.Context, markup string, page *url.URL, opt options) (doc document, err error) {
	defer func() {
		if p := recover(); p != nil {
			doc, err = document{}, fmt.Errorf("the page broke the converter: %v", p)
		}
	}()
	if err := scanBudget(ctx, markup); err != nil {
		return document{}, err
	}
	root, err := html.Parse(&budgetReader{ctx: ctx, r: strings.NewReader(markup), until: time.Now().Add(parseTime)})
	if err != nil {
		return document{}, parseError(err)
	}
	if err := clean(root, page); err != nil {
		return document{}, err
	}
	doc = document{title: title(root), format: opt.format}
	node, note := root, ""
	if !opt.wholePage {
		node, doc.title, note = article(root, page, doc.title)
	}
	doc.note = note
	if opt.links {
		doc.links, doc.omitted = collectLinks(node)
	}
	if ctx.Err() != nil {
		return document{}, ctx.Err()
	}
	if opt.format == formatText {
		doc.content = strings.TrimSpace(render.InnerText(node))
		return doc, nil
	}
	doc.content, err = markdown(ctx, node)
	return doc, err
}

// article is the main part of the page, or the whole page where there is none worth the name.
func article(root *html.Node, page *url.URL, pageTitle string) (node *html.Node, title, note string) {
	p := readability.NewParser()
	p.KeepClasses = true // a code block's language is a class
	p.DisableJSONLD = true
	p.MaxElemsToParse = maxTags
	found, err := p.ParseDocument(root, page)
	if err != nil || found.Node == nil || textLength(found.Node, minArticle) < minArticle {
		return root, pageTitle, ""
	}
	if t := strings.TrimSpace(found.Title()); t != "" {
		pageTitle = t
	}
	return found.Node, pageTitle, ""
}

// title is the text of the page's title element.
func title(root *html.Node) string {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.Namespace == "" && n.FirstChild != nil {
			return strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	}
	return ""
}

// textLength counts code points that are no blanks, up to enough.
func textLength(n *html.Node, enough int) int {
	count := 0
	for d := range n.Descendants() {
		if d.Type != html.TextNode {
			continue
		}
		for _, r := range d.Data {
			if !unicode.IsSpace(r) {
				count++
			}
		}
		if count >= enough {
			break
		}
	}
	return count
}

func parseError(err error) error {
	if errors.Is(err, errBudget) {
		return err
	}
	return fmt.Errorf("it cannot be parsed: %s", cutBytes(err.Error(), 120))
}

// collectLinks lists what n links to, each URL once, the first maxLinks of them.
func collectLinks(n *html.Node) (links []Link, omitted int) {
	seen := map[string]bool{}
	for d := range n.Descendants() {
		if d.Type != html.ElementNode || d.Data != "a" {
			continue
		}
		href := attr(d, "href")
		if !strings.HasPrefix(href, "http") || seen[href] {
			continue
		}
		seen[href] = true
		if len(links) == maxLinks {
			omitted++
			continue
		}
		text, _, _ := slice(linkText(d), 0, maxLinkText)
		links = append(links, Link{Text: text, URL: href})
	}
	return links, omitted
}

// linkText is the text of a link, or of the image in it.
func linkText(a *html.Node) string {
	var b strings.Builder
	for d := range a.Descendants() {
		if b.Len() > maxLinkText*utf8.UTFMax {
			break
		}
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.Data == "img":
			b.WriteString(" " + attr(d, "alt"))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

const (
	maxLinks    = 200
	maxLinkText = 200 // code points
)
