package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compact is a report as text, for comparison.
func compact(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestForecast_Reports compares whole reports of every provider in both units
// with what the recorded bodies say.
func TestForecast_Reports(t *testing.T) {
	const (
		placeBerlin = `"place":{"name":"Berlin","region":"Land Berlin","country":"Germany","latitude":52.5244,"longitude":13.4105,"timezone":"Europe/Berlin"}`
		metric      = `"units":{"system":"metric","temperature":"°C","windSpeed":"km/h","precipitation":"mm"}`
		imperial    = `"units":{"system":"imperial","temperature":"°F","windSpeed":"mph","precipitation":"in"}`
		openMeteoBy = `"provider":"open-meteo","attribution":"Weather data by Open-Meteo.com (https://open-meteo.com/), CC BY 4.0"`
		metNoBy     = `"provider":"met.no","attribution":"Weather data by MET Norway (https://api.met.no/), CC BY 4.0; places by Open-Meteo.com and GeoNames"`
		wttrBy      = `"provider":"wttr.in","attribution":"Weather by wttr.in (https://wttr.in/), data by World Weather Online"`
	)
	tests := []struct {
		name, provider string
		in             Input
		want           []string // the members of the report, in order
	}{
		{"open-meteo", openMeteoName, Input{Location: "berlin", Days: 2}, []string{placeBerlin, metric,
			`"current":{"time":"2026-11-30T12:15:00+01:00","condition":"overcast","temperature":4.2,"feelsLike":1.1,"humidity":76,"windSpeed":14.8,"windDirection":231}`,
			`"daily":[{"date":"2026-11-30","condition":"overcast","temperatureMin":2,"temperatureMax":6.1,"precipitation":0,"precipitationProbability":10}`,
			`{"date":"2026-12-01","condition":"light rain","temperatureMin":2.9,"temperatureMax":7,"precipitation":6.4,"precipitationProbability":85}]`,
			openMeteoBy}},
		{"open-meteo imperial by coordinates", openMeteoName, Input{Location: "40.71,-74.01", Units: "imperial"}, []string{
			`"place":{"name":"40.71,-74.01","latitude":40.71,"longitude":-74.01,"timezone":"America/New_York"}`, imperial,
			`"current":{"time":"2026-11-30T06:15:00-05:00","condition":"mainly clear","temperature":49.3,"feelsLike":43.7,"humidity":58,"windSpeed":11.9,"windDirection":302}`,
			`"daily":[]`, openMeteoBy}},
		{"met.no", metNoName, Input{Location: "Berlin, DE", Days: 1}, []string{placeBerlin, metric,
			`"current":{"time":"2026-11-30T12:00:00+01:00","condition":"cloudy","temperature":4.2,"humidity":76,"windSpeed":14.8,"windDirection":231}`,
			`"daily":[{"date":"2026-11-30","condition":"cloudy","temperatureMin":2.8,"temperatureMax":6.1,"precipitation":0}]`,
			metNoBy, `"notes":["today's forecast covers the hours still to come"]`}},
		{"met.no imperial by coordinates", metNoName, Input{Location: "-23.55,-46.64", Units: "imperial", Days: 0}, []string{
			`"place":{"name":"-23.55,-46.64","latitude":-23.55,"longitude":-46.64}`, imperial,
			`"current":{"time":"2026-11-30T11:00:00Z","condition":"rain and thunder","temperature":74.1,"humidity":71,"windSpeed":5.1,"windDirection":128}`,
			`"daily":[]`, metNoBy, `"notes":["the place's time zone is not known: times and days are in UTC"]`}},
		{"wttr.in", wttrName, Input{Location: "Berlin", Days: 1}, []string{
			`"place":{"name":"Berlin","region":"Berlin","country":"Germany","latitude":52.517,"longitude":13.4}`, metric,
			`"current":{"time":"2026-11-30T12:15","condition":"overcast","temperature":4,"feelsLike":1,"humidity":76,"windSpeed":15,"windDirection":231}`,
			`"daily":[{"date":"2026-11-30","condition":"overcast","temperatureMin":2,"temperatureMax":6,"precipitation":0,"precipitationProbability":10}]`, wttrBy}},
		{"wttr.in imperial in a data object", wttrName, Input{Location: "são paulo", Units: "imperial", Days: 1}, []string{
			`"place":{"name":"Sao Paulo","region":"Sao Paulo","country":"Brazil","latitude":-23.533,"longitude":-46.617}`, imperial,
			`"current":{"time":"2026-11-30T08:15","condition":"moderate or heavy rain with thunder","temperature":74,"feelsLike":69,"humidity":71,"windSpeed":5,"windDirection":128}`,
			`"daily":[{"date":"2026-11-30","condition":"moderate or heavy rain with thunder","temperatureMin":66,"temperatureMax":82,"precipitation":0.57,"precipitationProbability":88}]`, wttrBy}},
	}
	s := newService(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.forecaster(t, Settings{Provider: tt.provider}).forecast(t.Context(), tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("{"+strings.Join(tt.want, ",")+"}", compact(t, got)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// TestForecast_Days checks how many days come, and that a report that is
// shorter than asked for says so.
func TestForecast_Days(t *testing.T) {
	s := newService(t)
	for _, name := range everyProvider {
		f := s.forecaster(t, Settings{Provider: name})
		for days := range maxDays + 1 {
			r, err := f.forecast(t.Context(), Input{Location: "New York", Days: days})
			if err != nil {
				t.Fatalf("%s, %d days: %v", name, days, err)
			}
			want := days
			if name == wttrName {
				want = min(days, 3) // wttr.in has no more
			}
			short := strings.Contains(strings.Join(r.Notes, "\n"), "wttr.in forecasts 3 of the")
			if len(r.Daily) != want || short != (want < days) {
				t.Errorf("%s: %d days for %d, notes %q", name, len(r.Daily), days, r.Notes)
			}
			for i, d := range r.Daily {
				if wantDate := []string{"2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04", "2026-12-05", "2026-12-06"}[i]; d.Date != wantDate {
					t.Errorf("%s: day %d is %s, want %s", name, i, d.Date, wantDate)
				}
			}
		}
	}
}

func TestConditions(t *testing.T) {
	for code, want := range map[float64]string{
		0: "clear sky", 2: "partly cloudy", 45: "fog", 48: "depositing rime fog", 51: "light drizzle", 53: "moderate drizzle",
		55: "heavy drizzle", 56: "light freezing drizzle", 57: "heavy freezing drizzle", 61: "light rain", 65: "heavy rain",
		66: "light freezing rain", 67: "heavy freezing rain", 73: "moderate snow", 77: "snow grains", 80: "light rain showers",
		81: "moderate rain showers", 82: "heavy rain showers", 85: "light snow showers", 86: "heavy snow showers",
		95: "thunderstorm", 99: "thunderstorm with hail", 42: "weather code 42",
	} {
		if got := wmoCondition(&code); got != want {
			t.Errorf("WMO %v is %q, want %q", code, got, want)
		}
	}
	if got := wmoCondition(nil); got != "unknown" {
		t.Errorf("no WMO code is %q", got)
	}
	for symbol, want := range map[string]string{
		"": "unknown", "clearsky_polartwilight": "clear sky", "fair_day": "fair", "partlycloudy_night": "partly cloudy",
		"cloudy": "cloudy", "fog": "fog", "rain": "rain", "lightrain": "light rain", "heavysleetshowers_day": "heavy sleet showers",
		"rainshowersandthunder_day": "rain showers and thunder", "heavysnowandthunder": "heavy snow and thunder",
		"lightssleetshowersandthunder_day": "light sleet showers and thunder", "lightssnowshowersandthunder_night": "light snow showers and thunder",
		"snow": "snow", "sleet": "sleet", "sandstorm": "sandstorm",
	} {
		if got := symbolCondition(symbol); got != want {
			t.Errorf("symbol %q is %q, want %q", symbol, got, want)
		}
	}
}
