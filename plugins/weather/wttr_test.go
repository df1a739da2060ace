package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWttrNumber checks numbers that are strings.
func TestWttrNumber(t *testing.T) {
	for text, want := range map[string]string{
		`"4"`: "4", `" -0.5 "`: "-0.5", `7`: "7", `""`: "null", `null`: "null",
		`"NaN"`: "error", `"Inf"`: "error", `"warm"`: "error", `[]`: "error", `{}`: "error",
	} {
		var n wttrNumber
		got := "error"
		if err := json.Unmarshal([]byte(text), &n); err == nil {
			got = compact(t, n.v)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestAnswers_Sparse has services answer with less, or other, than recorded:
// what is missing is absent from the report, and nothing is made up.
func TestAnswers_Sparse(t *testing.T) {
	tests := []struct{ provider, location, answer, want string }{
		{wttrName, "X", `{"current_condition":[{"temp_C":"4"}]}`,
			`"place":{"name":"X"},"units":{"system":"metric","temperature":"°C","windSpeed":"km/h","precipitation":"mm"},"current":{"condition":"unknown","temperature":4},"daily":[]`},
		{wttrName, "X", `{"current_condition":[{"temp_C":""}]}`, "no current temperature"},
		{wttrName, "X", `{"current_condition":[{"temp_C":"warm"}]}`, `"warm" is not a number`},
		{wttrName, "X", `{"data":{"current_condition":[]}}`, "no current conditions"},
		{openMeteoName, "1,2", `{"current_units":{"temperature_2m":"°C"},"current":{"time":"2026-11-30T12:15","temperature_2m":-3}}`,
			`"current":{"time":"2026-11-30T12:15:00Z","condition":"unknown","temperature":-3}`},
		{openMeteoName, "1,2", `{"current_units":{"temperature_2m":"°C"},"current":{"time":"2026-11-30T12:15","temperature_2m":1},"daily":{"time":["2026-11-30"],"temperature_2m_max":[null]}}`,
			`"daily":[{"date":"2026-11-30","condition":"unknown"}]`},
		{openMeteoName, "1,2", `{"current_units":{"temperature_2m":"°F"},"current":{"time":"2026-11-30T12:15","temperature_2m":1}}`, `answer is in "°F", not in °C`},
		{openMeteoName, "1,2", `{"current_units":{"temperature_2m":"°C"},"current":{"time":"noon","temperature_2m":1}}`, `unexpected time "noon"`},
		{openMeteoName, "X", `{"results":[{"name":"X"}]}`, `hit without coordinates for "X"`},
		{metNoName, "1,2", `{"properties":{"timeseries":[{"time":"2026-11-30T12:00:00Z","data":{}}]}}`, "no current temperature"},
		{metNoName, "1,2", `{"properties":{"timeseries":[{"time":"noon"}]}}`, "unexpected JSON"},
		{metNoName, "1,2", `{"properties":{"timeseries":[{"time":"2026-11-30T12:00:00Z","data":{"instant":{"details":{"air_temperature":1}}}}]}}`,
			`"current":{"time":"2026-11-30T12:00:00Z","condition":"unknown","temperature":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.provider+"/"+tt.answer, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/geo+json")
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer server.Close()
			f, err := newForecaster(Settings{Provider: tt.provider, OpenMeteo: server.URL, Geocoding: server.URL, MetNo: server.URL, Wttr: server.URL}, server.Client())
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.forecast(t.Context(), Input{Location: tt.location, Days: 1})
			got := compact(t, r)
			if err != nil {
				got = err.Error()
				if f := (*failure)(nil); !errors.As(err, &f) || f.Kind != kindMalformed || f.Host == "" {
					t.Errorf("error %+v, want one of kind malformed that names the host", err)
				}
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}
