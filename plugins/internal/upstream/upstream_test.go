package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const contact = "toolhost-test/1 (https://example.org/contact)"

// get asks a server on loopback and returns status, content type and body.
func get(t *testing.T, target, userAgent string) (int, http.Header, string, error) {
	t.Helper()
	server := httptest.NewServer(Handler())
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", userAgent)
	resp, err := server.Client().Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, resp.Header, string(body), err
}

// TestHandler_RefusesWhatTheServiceWould holds the recorded services to the
// terms of the real ones (research 10), so that tests of the plugin cannot
// pass with a request that the real service would refuse.
func TestHandler_RefusesWhatTheServiceWould(t *testing.T) {
	const metNo = MetNoPath + "/weatherapi/locationforecast/2.0/compact"
	tests := []struct {
		name, target, userAgent string
		status                  int
		body                    string
	}{
		{"geocoder hit", GeocodingPath + "/v1/search?name=Berlin&count=1&language=en&format=json", "", 200, `"country_code":"DE"`},
		{"geocoder two hits", GeocodingPath + "/v1/search?name=berlin&count=10", "", 200, `New Hampshire`},
		{"geocoder ascii name", GeocodingPath + "/v1/search?name=Sao+Paulo&count=1", "", 200, `Brazil`},
		{"geocoder no hit", GeocodingPath + "/v1/search?name=Nosuch&count=1", "", 200, `{"generationtime_ms":0.6}`},
		{"geocoder no count", GeocodingPath + "/v1/search?name=Berlin", "", 400, `"error":true`},
		{"geocoder unknown parameter", GeocodingPath + "/v1/search?name=Berlin&count=1&x=1", "", 400, `parameter x`},
		{"forecast", OpenMeteoPath + "/v1/forecast?latitude=52.5&longitude=13.4&current=temperature_2m", "", 200, `"temperature_2m":4.2`},
		{"forecast in fahrenheit", OpenMeteoPath + "/v1/forecast?latitude=52.5&longitude=13.4&current=temperature_2m&temperature_unit=fahrenheit", "", 200, `"temperature_2m":39.6`},
		{"forecast days", OpenMeteoPath + "/v1/forecast?latitude=52.5&longitude=13.4&daily=weather_code&forecast_days=2&timezone=auto", "", 200, `"weather_code":[3,61]`},
		{"forecast without timezone", OpenMeteoPath + "/v1/forecast?latitude=52.5&longitude=13.4&daily=weather_code", "", 400, `timezone is required`},
		{"forecast unknown variable", OpenMeteoPath + "/v1/forecast?latitude=52.5&longitude=13.4&current=smell", "", 400, `smell`},
		{"forecast unknown unit", OpenMeteoPath + "/v1/forecast?latitude=52.5&longitude=13.4&temperature_unit=kelvin", "", 400, `kelvin`},
		{"forecast out of range", OpenMeteoPath + "/v1/forecast?latitude=91&longitude=13.4", "", 400, `latitude`},
		{"forecast elsewhere", OpenMeteoPath + "/v1/forecast?latitude=0&longitude=0", "", 400, `no recorded forecast`},
		{"met.no", metNo + "?lat=52.5244&lon=13.4105", contact, 200, `"air_temperature": 4.2`},
		{"met.no without contact", metNo + "?lat=52.5244&lon=13.4105", "Go-http-client/1.1", 403, `User-Agent`},
		{"met.no five decimals", metNo + "?lat=52.52441&lon=13.4105", contact, 403, `four decimals`},
		{"met.no elsewhere", metNo + "?lat=1&lon=1", contact, 422, `no recorded`},
		{"wttr", WttrPath + "/Berlin?format=j1", "", 200, `"temp_C": "4"`},
		{"wttr wrapped", WttrPath + "/S%C3%A3o%20Paulo?format=j1", "", 200, `{ "data": {`},
		{"wttr coordinates", WttrPath + "/40.7,-74?format=j1", "", 200, `New York`},
		{"wttr no hit", WttrPath + "/Nosuch?format=j1", "", 404, `Unknown location`},
		{"wttr other format", WttrPath + "/Berlin", "", 400, `format=j1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, _, body, err := get(t, tt.target, tt.userAgent)
			if err != nil || status != tt.status {
				t.Fatalf("status %d, error %v; want %d", status, err, tt.status)
			}
			if !strings.Contains(strings.ReplaceAll(body, "\n", ""), tt.body) {
				t.Errorf("body %.300s does not contain %s", body, tt.body)
			}
		})
	}
}

func TestHandler_MetNoNotModified(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()
	target := server.URL + MetNoPath + "/weatherapi/locationforecast/2.0/compact?lat=52.52&lon=13.41"
	ask := func(since string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", contact)
		req.Header.Set("If-Modified-Since", since)
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp
	}
	first := ask("")
	modified := first.Header.Get("Last-Modified")
	if first.StatusCode != http.StatusOK || modified == "" || first.Header.Get("Expires") == "" {
		t.Fatalf("first answer: status %d, headers %v", first.StatusCode, first.Header)
	}
	if again := ask(modified); again.StatusCode != http.StatusNotModified {
		t.Errorf("with If-Modified-Since %s: status %d, want 304", modified, again.StatusCode)
	}
	if older := ask("Mon, 02 Jan 2006 15:04:05 GMT"); older.StatusCode != http.StatusOK {
		t.Errorf("with an older date: status %d, want 200", older.StatusCode)
	}
}

// TestHandler_Records checks that every recorded place is whole for every service.
func TestHandler_Records(t *testing.T) {
	for _, p := range places() {
		for _, service := range []string{"openmeteo", "metno", "wttr"} {
			body, err := record(service + "-" + p.slug + ".json")
			if err != nil || !json.Valid(body) {
				t.Errorf("%s for %s: error %v, valid JSON %v", service, p.slug, err, json.Valid(body))
			}
		}
	}
}

// TestHandler_Faults checks what each fault place does.
func TestHandler_Faults(t *testing.T) {
	for _, fault := range Faults() {
		if fault == "slow" || fault == "huge" || fault == "redirect" {
			continue // these have no end; the weather plugin's tests bring one
		}
		t.Run(fault, func(t *testing.T) {
			status, header, body, err := get(t, WttrPath+"/fault-"+fault+"?format=j1", "")
			switch fault {
			case "truncated":
				if err == nil {
					t.Errorf("the whole body came: %s", body)
				}
			case "html", "text", "cut", "empty", "types":
				if err != nil || status != http.StatusOK {
					t.Errorf("status %d, error %v; want 200", status, err)
				}
				if valid := fault == "empty" || fault == "types"; json.Valid([]byte(body)) != valid {
					t.Errorf("valid JSON: %v, want %v: %s", !valid, valid, body)
				}
			default:
				if err != nil || fmt.Sprint(status) != fault || !strings.Contains(body, fault) {
					t.Errorf("status %d, error %v, body %s; want %s", status, err, body, fault)
				}
				if want := map[bool]string{true: "7"}[fault == "429"]; header.Get("Retry-After") != want {
					t.Errorf("Retry-After %q, want %q", header.Get("Retry-After"), want)
				}
			}
		})
	}
}
