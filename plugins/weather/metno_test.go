package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestMetNo_HonoursExpires asks for one place at three times: while the answer
// is fresh no request is made, and afterwards one with If-Modified-Since.
func TestMetNo_HonoursExpires(t *testing.T) {
	s := newService(t)
	f := s.forecaster(t, Settings{Provider: metNoName})
	now := time.Now()
	f.provider.(metNo).cache.now = func() time.Time { return now }
	ask := func() (Report, []*http.Request) {
		t.Helper()
		r, err := f.forecast(t.Context(), Input{Location: "52.52,13.41", Days: 2})
		if err != nil {
			t.Fatal(err)
		}
		return r, s.requests()
	}
	first, requests := ask()
	if len(requests) != 1 || requests[0].Header.Get("If-Modified-Since") != "" {
		t.Fatalf("first call: %d requests, want 1 without If-Modified-Since", len(requests))
	}
	now = now.Add(29 * time.Minute)
	second, requests := ask()
	if len(requests) != 0 {
		t.Errorf("while fresh: %d requests, want none", len(requests))
	}
	now = now.Add(2 * time.Minute)
	third, requests := ask()
	if len(requests) != 1 || requests[0].Header.Get("If-Modified-Since") != "Mon, 30 Nov 2026 10:41:12 GMT" {
		t.Errorf("when expired: %d requests, want 1 with If-Modified-Since", len(requests))
	}
	if a, b, c := compact(t, first), compact(t, second), compact(t, third); a != b || b != c {
		t.Errorf("reports differ:\n%s\n%s\n%s", a, b, c)
	}
}

// TestMetNo_KeepsNoFailure has a failing place asked for twice.
func TestMetNo_KeepsNoFailure(t *testing.T) {
	s := newService(t)
	f := s.forecaster(t, Settings{Provider: metNoName})
	for range 2 {
		if _, err := f.forecast(t.Context(), Input{Location: "forecast-fault-500"}); err == nil {
			t.Error("no error")
		}
		if asked := len(s.requests()); asked != 2 {
			t.Errorf("%d requests, want 2: the geocoder and the forecast", asked)
		}
	}
}

func TestMetNoCache_Bounded(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := newMetNoCache(func() time.Time { return start })
	for i := range maxCached + 10 {
		c.put(fmt.Sprint(i), metNoEntry{answer: &metNoAnswer{}}, start.Add(time.Duration(i+1)*time.Minute).Format(http.TimeFormat))
	}
	if len(c.entries) != maxCached {
		t.Errorf("%d entries, want %d", len(c.entries), maxCached)
	}
	if e, _ := c.get("9"); e.answer != nil {
		t.Error("an entry that expires early is still there")
	}
	if e, expired := c.get("10"); e.answer == nil || expired {
		t.Errorf("entry 10: %+v, expired %v; want it fresh", e, expired)
	}
	c.put("10", metNoEntry{answer: &metNoAnswer{}}, "soon")
	if e, expired := c.get("10"); e.answer == nil || !expired {
		t.Error("an answer whose Expires cannot be read counts as fresh")
	}
}

// TestMetNoDays checks the arithmetic of days on a series that goes from hours
// to six hours, in a zone where the UTC day is not the local one.
func TestMetNoDays(t *testing.T) {
	const series = `[
	{"time":"2026-11-30T21:00:00Z","data":{"instant":{"details":{"air_temperature":9}},
	  "next_1_hours":{"summary":{"symbol_code":"rain"},"details":{"precipitation_amount":1}},
	  "next_6_hours":{"summary":{"symbol_code":"rain"},"details":{"precipitation_amount":30}}}},
	{"time":"2026-11-30T22:00:00Z","data":{"instant":{"details":{"air_temperature":8}},
	  "next_1_hours":{"summary":{"symbol_code":"rain"},"details":{"precipitation_amount":0.5}}}},
	{"time":"2026-11-30T23:00:00Z","data":{"instant":{"details":{"air_temperature":3}},
	  "next_1_hours":{"summary":{"symbol_code":"fog"},"details":{"precipitation_amount":0.25}}}},
	{"time":"2026-12-01T00:00:00Z","data":{"instant":{"details":{"air_temperature":-1}},
	  "next_6_hours":{"summary":{"symbol_code":"snow"},"details":{"precipitation_amount":2}}}},
	{"time":"2026-12-01T06:00:00Z","data":{"instant":{"details":{}},
	  "next_6_hours":{"summary":{"symbol_code":"sleet"},"details":{"precipitation_amount":4}}}},
	{"time":"2026-12-01T12:00:00Z","data":{"instant":{"details":{"air_temperature":5}},
	  "next_12_hours":{"summary":{"symbol_code":"cloudy"},"details":{}}}},
	{"time":"2026-12-02T12:00:00Z","data":{"instant":{"details":{"air_temperature":7}}}}]`
	var steps []metNoStep
	if err := json.Unmarshal([]byte(series), &steps); err != nil {
		t.Fatal(err)
	}
	u, err := unitsNamed("")
	if err != nil {
		t.Fatal(err)
	}
	got := compact(t, metNoDays(steps, query{units: u, days: 7}, time.FixedZone("", 3600)))
	want := strings.Join([]string{
		`[{"date":"2026-11-30","condition":"rain","temperatureMin":8,"temperatureMax":9,"precipitation":1.5}`,
		`{"date":"2026-12-01","condition":"cloudy","temperatureMin":-1,"temperatureMax":5,"precipitation":6.3}`,
		`{"date":"2026-12-02","temperatureMin":7,"temperatureMax":7}]`,
	}, ",")
	if got != want {
		t.Errorf("days\n%s\nwant\n%s", got, want)
	}
}
