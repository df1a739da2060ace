package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostilePages are built to cost a parser, an extractor or a markdown converter far more than their size.
// Their long parts are scale times shorter than what the budgets take.
func hostilePages(scale int) map[string]string {
	r := func(unit string, n int) string {
		if n >= 5_000 {
			n /= scale
		}
		return strings.Repeat(unit, n)
	}
	fill := func(unit string) string { return r(unit, (maxMarkup-4096)/len(unit)) }
	numbered := func(n int, format string) string {
		var b strings.Builder
		if n >= 5_000 {
			n /= scale
		}
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"quotes around lines (T7)":      r("<blockquote>", 480) + r("line<br>", 20_000),
		"quotes around preformatted":    r("<blockquote>", 32) + "<pre>" + r("x\n", 2_000_000) + "</pre>",
		"quotes within the budgets":     r("<blockquote>", 31) + "<pre>" + r("xxxxxxx\n", 30_000) + "</pre>",
		"quotes around text":            r("<blockquote>", 30) + "<p>" + r("word *_`#> ", 55_000),
		"elements without end":          r("<div>", 50_000),
		"511 elements":                  r("<span>", 500) + r("word ", 200_000),
		"lists in lists":                r("<ul><li>", 240) + r("x<br>", 20_000),
		"many lists in lists":           r(r("<ul><li>a", 15)+r("</ul>", 15), 1_900),
		"reopened formatting":           "<p>" + numbered(400, "<b id=%d>") + "</p>" + fill("<p>x</p>"),
		"reopened formatting in budget": "<p>" + numbered(10, "<b id=%d>") + "</p>" + r("<p>x</p>", 9_000),
		"crossed formatting":            r("<b><i><a href=x>y</b></i></a>", 9_000),
		"bold in bold":                  r("<b>", 90) + r("word ", 100_000),
		"crossed blocks":                r("<a href=/><div><b></a>", 10_000),
		"attributes":                    "<b " + numbered(300_000, "a%d ") + ">" + "<b " + numbered(100_000, "b%d ") + ">x",
		"attributes in budget":          r("<b "+numbered(60, "a%d=1 ")+">x</b>", 10_000),
		"ragged table":                  "<table>" + r("<tr>", 20_000) + r("<td>x", 20_000),
		"table of spans":                "<table>" + r("<tr><td colspan=1000 rowspan=1000>x", 10_000),
		"table in budget":               "<table>" + r("<tr>"+r("<td>x", 19), 1_000),
		"tables in tables":              r("<table><tr><td>", 160) + r("x", 100_000),
		"foster parents":                "<table>" + fill("x<b></b></zz>"),
		"text between ignored tags":     fill("text of the page</zz>"),
		"long base":                     "<base href='/" + r("a", 2_000) + "/'>" + r("<a href=x>y</a>", 29_000),
		"one huge word":                 "<p>" + fill("x"),
		"backticks":                     "<p>" + r("`", 1_000_000) + "<code>" + r("`", 1_000_000) + "</code>",
		"markdown characters":           "<p>" + fill("*_[]()#+-.!|>~`\\<"),
		"blank lines":                   "<p>a" + r("<br>", 59_000),
		"paragraphs for the extractor":  r("<div><p>"+r("some words, and more, ", 5)+"</p></div>", 14_900),
		"siblings for the extractor":    "<div>" + r("<p>a, b, c, d, e, f, g, h, i, j, k, l</p>", 29_000),
		"links for the extractor":       "<div>" + r("<p>text, text <a href=/x>link</a>", 19_000),
		"nested for the extractor":      r("<div class=article>", 90) + r("<p>some words, and more, and more</p>", 29_000),
		"breaks for the extractor":      "<div>" + r("text<br><br>", 29_000),
		"spans for the extractor":       "<div>" + r("<span>a</span><img src=x>", 19_000),
		"comments in budget":            "<p>" + r("some text<!---->", 59_000),
		"metas":                         "<p>" + r("some text<meta>", 59_000),
		"empty bold":                    "<p>" + r("some text<b></b>", 29_000),
		"empty code":                    "<p>" + r("some text<code></code>", 29_000),
		"empty spans":                   "<p>" + r("some text<span></span>", 29_000),
		"buttons":                       "<p>" + r("some text<button></button>", 29_000),
		"redundant bold":                "<p>" + r("<b>a<strong>b</strong>c</b>", 14_000),
		"images":                        "<p>" + r("some text<img src=x alt='a] b'>", 59_000),
		"comments":                      "<p>" + r("x<!---->", 200_000),
		"entities":                      "<p>" + fill("&amp;&#x1F600;&notit;"),
		"unclosed script":               "<p>a<script>" + fill("<!--<script>"),
		"headings":                      r("<h1><a href=/a>b</a></h1>", 14_000),
		"frames and frames":             r("<svg><math><foreignObject>", 150) + r("x", 100_000),
		"zero bytes":                    "<p>" + fill("\x00"),
		"templates":                     r("<template>", 300) + r("x<p>", 20_000),
		"forms and options":             r("<form><select><option>x", 15_000),
		"definition lists":              r("<dl><dt>a<dd>b", 14_000),
		"blanks in preformatted":        "<pre>" + fill(" \n"),
		"tail of an emphasis":           "<p><em>" + r(" \u00a0", 500_000) + "x</em>",
		"many emphasised":               "<p>" + r("<em> x </em>", 29_000),
		"lines in emphasis":             "<p><b><i><u><s>" + r("x<br>", 55_000),
		"lines in a link":               "<a href=/><b>" + r("x<br><br>", 29_000),
		"lines in a heading":            "<h1>" + r("x<br>", 55_000),
		"lines in cells":                "<table><tr>" + r("<td>"+r("x<br>", 100), 500),
		"list items":                    "<ol start=999>" + r("<li>x", 55_000),
	}
}

// TestT7_HostilePagesEnd converts every page in the goroutine's own function, so that what is measured is not
// cut short by a deadline: this is how much processor time the work can take after its call is over. Measured
// without the race detector: 1.6 s at most, the median 0.1 s. As text the pages are a quarter as long, with
// the race detector a sixteenth, which still finds what is quadratic.
func TestT7_HostilePagesEnd(t *testing.T) {
	const bound = 20 * time.Second // on a slow machine; what is quadratic takes minutes
	scales := map[string]int{formatMarkdown: 1, formatText: 4}
	if raceOn {
		scales = map[string]int{formatMarkdown: 16}
	}
	page := &url.URL{Scheme: "https", Host: "example.com", Path: "/a/b"}
	for format, scale := range scales {
		for name, markup := range hostilePages(scale) {
			t.Run(name+"/"+format, func(t *testing.T) {
				start := cpuTime(t)
				doc := convertPage(context.Background(), markup, page, options{format: format, links: true})
				took := cpuTime(t) - start
				t.Logf("%8d bytes: %6d ms, %8d out, %s", len(markup), took.Milliseconds(), len(doc.content), doc.note)
				if took > bound {
					t.Errorf("took %s, more than %s", took, bound)
				}
				if len(doc.content) > maxContent || !utf8.ValidString(doc.content) {
					t.Errorf("content of %d bytes", len(doc.content))
				}
			})
		}
	}
}

// FuzzConvert holds any page to the same: an end, no panic, valid text. A panic inside the libraries is a
// note and not a panic, so the fuzz fails on one too.
func FuzzConvert(f *testing.F) {
	for _, markup := range hostilePages(1000) {
		f.Add(markup[:min(len(markup), 2000)])
	}
	f.Fuzz(func(t *testing.T, markup string) {
		markup = strings.ToValidUTF8(markup, "")
		for _, format := range []string{formatMarkdown, formatText} {
			start := cpuTime(t)
			doc := convertPage(context.Background(), markup, &url.URL{Scheme: "https", Host: "example.com"}, options{format: format, links: true})
			if took := cpuTime(t) - start; took > 10*time.Second {
				t.Errorf("%s: took %s", format, took)
			}
			if !utf8.ValidString(doc.content) || strings.Contains(doc.note, "broke the converter") {
				t.Errorf("%s: %q, note %s", format, doc.content, doc.note)
			}
		}
	})
}

// TestT7_ConversionEndsWithTheCall gives a page that takes long a call that does not.
func TestT7_ConversionEndsWithTheCall(t *testing.T) {
	c := newPageConverter()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.html(ctx, hostilePages(1)["markdown characters"], &url.URL{Scheme: "https", Host: "example.com"}, options{format: formatMarkdown})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	c.wait()
	if len(c.slots) != 0 {
		t.Error("a slot is still taken")
	}
}
