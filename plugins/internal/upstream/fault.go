package upstream

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// Faults are the names that a place "fault-NAME" or "forecast-fault-NAME" may
// carry:
//
//	400 403 404 429 500 503   that status with the service's error body;
//	                          429 has Retry-After: 7
//	html                      200 with an HTML page
//	text                      200 with plain text
//	truncated                 the connection ends in the middle of the body
//	cut                       a whole response whose JSON ends too early
//	empty                     200 with the JSON object {}
//	types                     200 with JSON of the wrong types
//	huge                      a body that ends only when the client goes away
//	slow                      no answer until the client goes away
//	redirect                  a redirect to itself
func Faults() []string {
	return []string{
		"400", "403", "404", "429", "500", "503", "html", "text",
		"truncated", "cut", "empty", "types", "huge", "slow", "redirect",
	}
}

// faultOfName returns the fault that a place's name asks for.
func faultOfName(name, prefix string) (http.HandlerFunc, bool) {
	fault, ok := strings.CutPrefix(strings.ToLower(name), prefix)
	if !ok || faultIndex(fault) < 0 {
		return nil, false
	}
	return faultHandler(fault), true
}

// faultOfCoordinates returns the fault that coordinates ask for.
func faultOfCoordinates(lat, lon float64) (http.HandlerFunc, bool) {
	i := int(lon)
	if lat != faultLatitude || i < 0 || i >= len(Faults()) {
		return nil, false
	}
	return faultHandler(Faults()[i]), true
}

// faultIndex is the position of a fault in the table, or -1.
func faultIndex(name string) int {
	for i, f := range Faults() {
		if f == name {
			return i
		}
	}
	return -1
}

// faultHandler answers as the fault says.
func faultHandler(name string) http.HandlerFunc {
	const half = `{"latitude":52.52,"current":{"time":"2026-11-30T12:15","temper`
	return func(w http.ResponseWriter, r *http.Request) {
		switch name {
		case "html":
			writeBody(w, http.StatusOK, "text/html; charset=utf-8", []byte("<!DOCTYPE html><title>Busy</title><p>Please try again later."))
		case "text":
			writeBody(w, http.StatusOK, "text/plain; charset=utf-8", []byte("Sorry, we are running out of queries."))
		case "truncated":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(2*len(half)))
			_, _ = w.Write([]byte(half)) // less than declared: the server ends the connection
		case "cut":
			writeBody(w, http.StatusOK, "application/json", []byte(half))
		case "empty":
			writeBody(w, http.StatusOK, "application/json", []byte("{}"))
		case "types":
			writeBody(w, http.StatusOK, "application/json", []byte(`{"results":7,"current":"warm","properties":[],"current_condition":"warm"}`))
		case "huge":
			writeHuge(w, r)
		case "slow":
			<-r.Context().Done()
		case "redirect":
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		default:
			writeStatus(w, name)
		}
	}
}

// writeStatus answers with the status and Open-Meteo's error body.
func writeStatus(w http.ResponseWriter, status string) {
	code, err := strconv.Atoi(status)
	if err != nil {
		code = http.StatusInternalServerError
	}
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "7")
	}
	reject(w, code, "recorded fault "+status)
}

// writeHuge writes valid JSON without an end until the client goes away.
func writeHuge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	pad := bytes.Repeat([]byte(" "), 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(pad); err != nil {
			return
		}
	}
}

// reject answers with Open-Meteo's error body.
func reject(w http.ResponseWriter, status int, reason string) {
	writeJSON(w, status, map[string]any{"error": true, "reason": reason})
}
