package upstream

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
)

//go:embed pages
var pageFiles embed.FS

// Pages serves recorded web pages, for the webfetch plugin's tests and the demonstration:
//
//	/article            an article with headings, lists, a table, code, links, navigation and a hidden sentence
//	/gzip               the same, with Content-Encoding gzip
//	/windows-1251       an article whose character set stands in the header
//	/shift-jis          an article whose character set stands in a meta element
//	/large              an article of [LargeParagraphs] numbered paragraphs, about 120 KB, for offsets
//	/data.json          JSON
//	/notes.txt          plain text
//	/redirect/N         N+1 redirects, the last one to /article: N from 0 to 20
//	/redirect/loop      a redirect to itself
//	/teapot             status 418 with a short page
//
// Anything else is a 404 with a page. Redirects are relative, so the handler works below any path. It holds
// no state.
func Pages() http.Handler {
	mux := http.NewServeMux()
	for path, page := range map[string]struct{ file, contentType string }{
		"/article":      {"article.html", "text/html; charset=utf-8"},
		"/windows-1251": {"windows-1251.html", "text/html; charset=windows-1251"},
		"/shift-jis":    {"shift-jis.html", "text/html"},
		"/data.json":    {"data.json", "application/json"},
		"/notes.txt":    {"notes.txt", "text/plain; charset=utf-8"},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { writePage(w, page.file, page.contentType, false) })
	}
	mux.HandleFunc("GET /gzip", func(w http.ResponseWriter, r *http.Request) {
		writePage(w, "article.html", "text/html; charset=utf-8", true)
	})
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, r *http.Request) {
		writeBody(w, http.StatusOK, "text/html; charset=utf-8", []byte(largePage()))
	})
	mux.HandleFunc("GET /redirect/{n}", redirectPage)
	mux.HandleFunc("GET /teapot", func(w http.ResponseWriter, r *http.Request) {
		writeMessage(w, http.StatusTeapot, "This server is a teapot.")
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		writeMessage(w, http.StatusNotFound, "There is no page "+r.URL.Path+".")
	})
	return mux
}

// pageRoutes are the web pages below [PagesPath].
func pageRoutes() []route {
	return []route{{"GET " + PagesPath + "/", http.StripPrefix(PagesPath, Pages()).ServeHTTP}}
}

// LargeParagraphs is the number of paragraphs of the page /large. Each names its number: "Paragraph 17."
const LargeParagraphs = 600

func largePage() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><title>A long page</title></head>\n<body><article><h1>A long page</h1>\n")
	for i := 1; i <= LargeParagraphs; i++ {
		fmt.Fprintf(&b, "<p>Paragraph %d. The water rises, stands, and falls again; the gauge at the café writes its height every six minutes, day and night, "+
			"and nobody reads it until the year is over, 潮 by 潮.</p>\n", i)
	}
	b.WriteString("</article></body></html>\n")
	return b.String()
}

// redirectPage counts down to the article.
func redirectPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("n")
	if name == "loop" {
		writeRedirect(w, "loop")
		return
	}
	switch n, err := strconv.Atoi(name); {
	case err != nil || n < 0 || n > 20:
		writeMessage(w, http.StatusNotFound, "Redirects are counted from 0 to 20.")
	case n == 0:
		writeRedirect(w, "../article")
	default:
		writeRedirect(w, strconv.Itoa(n-1))
	}
}

// writeRedirect leaves the location as it is; [http.Redirect] would make it absolute and lose the stripped
// prefix.
func writeRedirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusFound)
}

func writePage(w http.ResponseWriter, file, contentType string, zip bool) {
	body, err := pageFiles.ReadFile("pages/" + file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if zip {
		if body, err = gzipped(body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
	}
	writeBody(w, http.StatusOK, contentType, body)
}

func gzipped(body []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeMessage(w http.ResponseWriter, status int, message string) {
	writeBody(w, status, "text/html; charset=utf-8", fmt.Appendf(nil,
		"<!DOCTYPE html>\n<html><head><title>%s</title></head><body><p>%s</p></body></html>\n",
		html.EscapeString(http.StatusText(status)), html.EscapeString(message)))
}
