package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/plugins/internal/upstream"
	"github.com/toolhost/toolhost/pluginsdk"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var everyProvider = []string{openMeteoName, metNoName, wttrName}

// service is the recorded upstream with a list of what it was asked.
type service struct {
	url    string
	client *http.Client

	mu      sync.Mutex
	asked   []*http.Request
	arrived chan struct{} // one value a request, as far as there is room
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{arrived: make(chan struct{}, 16), client: newHTTPClient()}
	handler := upstream.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		select {
		case s.arrived <- struct{}{}:
		default:
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

// host is the address that failures name.
func (s *service) host() string { return strings.TrimPrefix(s.url, "http://") }

// requests returns what was asked since the last call.
func (s *service) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// forecaster returns one that asks the recorded services.
func (s *service) forecaster(t *testing.T, settings Settings) *forecaster {
	t.Helper()
	settings.OpenMeteo = s.url + upstream.OpenMeteoPath
	settings.Geocoding = s.url + upstream.GeocodingPath + "/" // a slash at the end does no harm
	settings.MetNo = s.url + upstream.MetNoPath
	settings.Wttr = s.url + upstream.WttrPath
	f, err := newForecaster(settings, s.client)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestForecast_Outcomes has every provider find, not find, and fail in every
// way that a service can fail, at the geocoder and at the forecast.
func TestForecast_Outcomes(t *testing.T) {
	type want struct {
		kind      string
		status    int
		retryable bool
		text      string
	}
	faults := map[string]want{
		"400":       {kindRejected, 400, false, `400 Bad Request: "recorded fault 400"`},
		"404":       {kindRejected, 404, false, "404 Not Found"},
		"403":       {kindRejected, 403, false, "403 Forbidden"},
		"429":       {kindLimited, 429, true, `429 Too Many Requests: "recorded fault 429", retry after 7 s`},
		"500":       {kindServer, 500, true, "500 Internal Server Error"},
		"503":       {kindServer, 503, true, "503 Service Unavailable"},
		"html":      {kindMalformed, 200, true, `"text/html" in place of JSON`},
		"text":      {kindMalformed, 200, true, `"text/plain" in place of JSON`},
		"truncated": {kindUnreachable, 200, true, "answer breaks off after 62 bytes: unexpected EOF"},
		"cut":       {kindMalformed, 200, true, "JSON ends too early, after 62 bytes"},
		"types":     {kindMalformed, 200, false, "unexpected JSON: "},
		"huge":      {kindTooLarge, 200, false, "more than 1048576 bytes"},
		"redirect":  {kindUnreachable, 0, true, "more than 3 redirects"},
	}
	s := newService(t)
	for _, name := range everyProvider {
		f := s.forecaster(t, Settings{Provider: name})
		check := func(location, failing string, w want) {
			t.Run(name+"/"+location, func(t *testing.T) {
				_, err := f.forecast(t.Context(), Input{Location: location, Days: 1})
				var got *failure
				if !errors.As(err, &got) {
					t.Fatalf("error %v, want a *failure", err)
				}
				if got.Provider != failing || got.Host != s.host() || got.Kind != w.kind || got.Status != w.status || got.Retryable != w.retryable {
					t.Errorf("failure %+v; want provider %s, host %s, %+v", *got, failing, s.host(), w)
				}
				if text := err.Error(); !strings.HasPrefix(text, failing+": "+s.host()+": ") || !strings.Contains(text, w.text) {
					t.Errorf("text %q; want provider, host and %q", text, w.text)
				}
				if wantAfter := map[bool]int{true: 7}[w.status == 429]; got.RetryAfter != wantAfter {
					t.Errorf("retry after %d, want %d", got.RetryAfter, wantAfter)
				}
			})
		}
		first := geocodingName
		if name == wttrName {
			first = wttrName
		}
		check("Nosuch Place", first, want{kindNotFound, map[string]int{geocodingName: 200, wttrName: 404}[first], false, `no place named "Nosuch Place"`})
		check("0.5,0.5", name, map[string]want{
			openMeteoName: {kindRejected, 400, false, "400 Bad Request: \"no recorded forecast"},
			metNoName:     {kindRejected, 422, false, "422 Unprocessable Entity"},
			wttrName:      {kindNotFound, 404, false, `no place named "0.5,0.5"`},
		}[name])
		for fault, w := range faults {
			if name == wttrName && fault == "404" {
				w.kind, w.text = kindNotFound, `no place named "fault-404"`
			}
			check("fault-"+fault, first, w)
			if name != wttrName {
				check("forecast-fault-"+fault, name, w)
			}
		}
		empty := want{kindMalformed, 200, false, "answer has no current"}
		if name == wttrName {
			check("fault-empty", name, empty)
		} else {
			check("forecast-fault-empty", name, empty)
			check("fault-empty", first, want{kindNotFound, 200, false, "no place named"})
		}
	}
}

// TestForecast_Timeout has a service that does not answer within the setting.
func TestForecast_Timeout(t *testing.T) {
	s := newService(t)
	for _, name := range everyProvider {
		f := s.forecaster(t, Settings{Provider: name, Timeout: "50ms"})
		_, err := f.forecast(t.Context(), Input{Location: "fault-slow"})
		var got *failure
		if !errors.As(err, &got) || got.Kind != kindTimeout || !got.Retryable || !strings.Contains(err.Error(), "no answer within 50ms") {
			t.Errorf("%s: error %v, want a timeout that may be tried again", name, err)
		}
	}
}

// TestForecast_Cancel ends the call while a service is silent: the cause comes
// back, not a failure of the service.
func TestForecast_Cancel(t *testing.T) {
	s := newService(t)
	for _, name := range everyProvider {
		f := s.forecaster(t, Settings{Provider: name})
		cause := errors.New("the caller went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { // ends when forecast does; joined by <-done
			_, err := f.forecast(ctx, Input{Location: "fault-slow"})
			done <- err
		}()
		<-s.arrived
		cancel(cause)
		err := <-done
		var f2 *failure
		if !errors.Is(err, cause) || errors.As(err, &f2) {
			t.Errorf("%s: error %v, want the cause and no *failure", name, err)
		}
	}
}

func TestForecast_Unreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	f, err := newForecaster(Settings{Geocoding: server.URL}, newHTTPClient())
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.forecast(t.Context(), Input{Location: "Berlin"})
	var got *failure
	if !errors.As(err, &got) || got.Kind != kindUnreachable || !got.Retryable || strings.Contains(err.Error(), "Get ") {
		t.Errorf("error %v, want an unreachable host, named once", err)
	}
}

// TestForecast_Requests holds the requests to what each service documents.
func TestForecast_Requests(t *testing.T) {
	const current = "temperature_2m,apparent_temperature,relative_humidity_2m,weather_code,wind_speed_10m,wind_direction_10m"
	const daily = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max"
	tests := []struct {
		provider string
		in       Input
		want     []string // path and query, unescaped, parameters sorted
	}{
		{openMeteoName, Input{Location: " Berlin "}, []string{
			"/geocoding/v1/search?count=1&format=json&language=en&name=Berlin",
			"/open-meteo/v1/forecast?current=" + current + "&latitude=52.5244&longitude=13.4105&timezone=auto",
		}},
		{openMeteoName, Input{Location: "40.71277601, -74.0", Units: "imperial", Days: 3}, []string{
			"/open-meteo/v1/forecast?current=" + current + "&daily=" + daily + "&forecast_days=3&latitude=40.7128&longitude=-74" +
				"&precipitation_unit=inch&temperature_unit=fahrenheit&timezone=auto&wind_speed_unit=mph",
		}},
		{metNoName, Input{Location: "Berlin, New Hampshire, USA"}, []string{
			"/geocoding/v1/search?count=10&format=json&language=en&name=Berlin",
			"/met.no/weatherapi/locationforecast/2.0/compact?lat=44.4687&lon=-71.1851",
		}},
		{wttrName, Input{Location: "São Paulo"}, []string{"/wttr.in/São Paulo?format=j1"}},
		{wttrName, Input{Location: "a/../b?c#d"}, []string{"/wttr.in/a/../b?c#d?format=j1"}},
		{wttrName, Input{Location: "40.71,-74.01"}, []string{"/wttr.in/40.71,-74.01?format=j1"}},
		{wttrName, Input{Location: ":help"}, nil},
	}
	s := newService(t)
	for _, tt := range tests {
		t.Run(tt.provider+"/"+tt.in.Location, func(t *testing.T) {
			f := s.forecaster(t, Settings{Provider: tt.provider, UserAgent: "test/1 (ops@example.org)"})
			_, _ = f.forecast(t.Context(), tt.in) // what comes back is the other tests' matter
			var got []string
			for _, r := range s.requests() {
				query, err := url.QueryUnescape(r.URL.Query().Encode())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.URL.Path+"?"+query)
				if ua, accept := r.UserAgent(), r.Header.Get("Accept"); ua != "test/1 (ops@example.org)" || accept != "application/json" {
					t.Errorf("User-Agent %q, Accept %q", ua, accept)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestForecast_DefaultUserAgent has met.no accept what is sent without a setting.
func TestForecast_DefaultUserAgent(t *testing.T) {
	s := newService(t)
	if _, err := s.forecaster(t, Settings{Provider: metNoName}).forecast(t.Context(), Input{Location: "Berlin"}); err != nil {
		t.Error(err)
	}
	var got *failure
	_, err := s.forecaster(t, Settings{Provider: metNoName, UserAgent: "anonymous"}).forecast(t.Context(), Input{Location: "Berlin"})
	if !errors.As(err, &got) || got.Status != http.StatusForbidden {
		t.Errorf("without a contact: %v, want 403", err)
	}
}

// TestForModel checks what a failure carries to the model.
func TestForModel(t *testing.T) {
	err := forModel(fmt.Errorf("wrapped: %w", (&failure{Provider: "p", Host: "h", Status: 429, RetryAfter: 7}).as(kindLimited, nil, "busy")))
	var got *pluginsdk.Error
	if !errors.As(err, &got) {
		t.Fatalf("error %T, want *pluginsdk.Error", err)
	}
	if got.Message != "wrapped: p: h: busy" {
		t.Errorf("message %q", got.Message)
	}
	var data map[string]any
	if err := json.Unmarshal(got.Data, &data); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"provider": "p", "host": "h", "kind": kindLimited, "status": 429.0, "retryable": true, "retryAfterSeconds": 7.0}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if err := forModel(context.Canceled); err != context.Canceled {
		t.Errorf("another error became %v", err)
	}
	if err := forModel(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// TestNewForecaster_Settings checks defaults and what is refused.
func TestNewForecaster_Settings(t *testing.T) {
	s, timeout, err := Settings{}.withDefaults()
	if err != nil || timeout != 10*time.Second || s.Provider != openMeteoName || s.Wttr != "https://wttr.in" {
		t.Errorf("defaults %+v, %v, error %v", s, timeout, err)
	}
	tests := map[string]Settings{
		"provider":  {Provider: "accuweather"},
		"metNo":     {MetNo: "ftp://example.org"},
		"wttr":      {Wttr: "wttr.in"},
		"openMeteo": {OpenMeteo: "https://example.org/?key=1"},
		"geocoding": {Geocoding: "https://"},
		"timeout":   {Timeout: "10"},
		"userAgent": {UserAgent: "a\r\nX: y"},
	}
	for name, s := range tests {
		if _, err := newForecaster(s, http.DefaultClient); err == nil || !strings.Contains(err.Error(), name+":") {
			t.Errorf("%s: error %v, want one that names the setting", name, err)
		}
	}
	if !slices.Contains(everyProvider, s.Provider) {
		t.Errorf("default provider %q is not one of %v", s.Provider, everyProvider)
	}
}
