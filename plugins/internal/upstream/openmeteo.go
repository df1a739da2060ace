package upstream

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// recordedDays is how many days the recorded forecasts reach.
const recordedDays = 7

func openMeteoRoutes() []route {
	return []route{
		{"GET " + GeocodingPath + "/v1/search", serveGeocoding},
		{"GET " + OpenMeteoPath + "/v1/forecast", serveForecast},
	}
}

// serveGeocoding answers with the recorded places of that name; without a hit
// the key results is absent.
func serveGeocoding(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if bad := unknownParameter(q, "name", "count", "language", "format"); bad != "" {
		reject(w, http.StatusBadRequest, "unknown or repeated parameter "+bad)
		return
	}
	name := q.Get("name")
	count, err := strconv.Atoi(q.Get("count"))
	if name == "" || err != nil || count < 1 || count > 100 {
		reject(w, http.StatusBadRequest, "Parameter count must be between 1 and 100, and name must be given.")
		return
	}
	if fault, ok := faultOfName(name, "fault-"); ok {
		fault(w, r)
		return
	}
	found, err := geocode(name)
	if err != nil {
		reject(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer := map[string]any{"generationtime_ms": 0.6}
	if len(found) > 0 {
		answer["results"] = found[:min(count, len(found))]
	}
	writeJSON(w, http.StatusOK, answer)
}

// geocode returns the recorded places of that name.
func geocode(name string) ([]map[string]any, error) {
	if fault, ok := strings.CutPrefix(strings.ToLower(name), "forecast-fault-"); ok {
		if i := faultIndex(fault); i >= 0 {
			return []map[string]any{{"id": 1, "name": name, "latitude": faultLatitude, "longitude": i, "country": "Faults"}}, nil
		}
	}
	body, err := record("geocoding.json")
	if err != nil {
		return nil, err
	}
	var all struct {
		Results []map[string]any `json:"results"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("geocoding.json: %w", err)
	}
	want := strings.ToLower(name)
	if p, ok := placeNamed(name); ok {
		want = p.names[0]
	}
	var found []map[string]any
	for _, result := range all.Results {
		if known, _ := result["name"].(string); strings.ToLower(known) == want {
			found = append(found, result)
		}
	}
	return found, nil
}

// serveForecast answers with the recorded forecast of the place near the
// coordinates, narrowed to what is asked for and in the units asked for.
func serveForecast(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	lat, lon, err := coordinates(q, "latitude", "longitude")
	if err == nil {
		err = checkForecast(q)
	}
	if err != nil {
		reject(w, http.StatusBadRequest, err.Error())
		return
	}
	if fault, ok := faultOfCoordinates(lat, lon); ok {
		fault(w, r)
		return
	}
	p, ok := placeAt(lat, lon)
	if !ok {
		reject(w, http.StatusBadRequest, "no recorded forecast for these coordinates; recorded are Berlin, New York and São Paulo")
		return
	}
	answer, err := forecast(p, q)
	if err != nil {
		reject(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// checkForecast refuses parameters and values that the service does not know.
func checkForecast(q url.Values) error {
	known := map[string][]string{
		"latitude": nil, "longitude": nil, "current": nil, "daily": nil, "forecast_days": nil, "timezone": nil,
		"temperature_unit":   {"", "celsius", "fahrenheit"},
		"wind_speed_unit":    {"", "kmh", "mph"},
		"precipitation_unit": {"", "mm", "inch"},
	}
	for key, values := range q {
		allowed, ok := known[key]
		if !ok || len(values) != 1 || allowed != nil && !slices.Contains(allowed, values[0]) {
			return fmt.Errorf("unknown parameter or value: %s=%s", key, strings.Join(values, ","))
		}
	}
	if q.Get("daily") != "" && q.Get("timezone") == "" {
		return fmt.Errorf("timezone is required when daily is given")
	}
	return nil
}

// forecast narrows and converts the recorded body.
func forecast(p place, q url.Values) (map[string]any, error) {
	body, err := record("openmeteo-" + p.slug + ".json")
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("openmeteo-%s.json: %w", p.slug, err)
	}
	days := recordedDays
	if text := q.Get("forecast_days"); text != "" {
		if days, err = strconv.Atoi(text); err != nil || days < 0 || days > recordedDays {
			return nil, fmt.Errorf("forecast_days is invalid: recorded are 0 to %d days, given: %s", recordedDays, text)
		}
	}
	for _, section := range []string{"current", "daily"} {
		if q.Get(section) == "" {
			delete(answer, section)
			delete(answer, section+"_units")
			continue
		}
		if err := narrow(answer, section, strings.Split(q.Get(section), ","), days, q); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// narrow keeps the variables asked for in one section and converts them.
func narrow(answer map[string]any, section string, wanted []string, days int, q url.Values) error {
	values, _ := answer[section].(map[string]any)
	units, _ := answer[section+"_units"].(map[string]any)
	for _, name := range wanted {
		if _, ok := values[name]; !ok {
			return fmt.Errorf("cannot initialize %s from invalid String value %s", section, name)
		}
	}
	for name, value := range values {
		if name != "time" && name != "interval" && !slices.Contains(wanted, name) {
			delete(values, name)
			delete(units, name)
			continue
		}
		label, convert := conversion(units[name], q)
		units[name] = label
		switch v := value.(type) {
		case float64:
			values[name] = convert(v)
		case []any:
			v = v[:days]
			for i := range v {
				if f, ok := v[i].(float64); ok {
					v[i] = convert(f)
				}
			}
			values[name] = v
		}
	}
	return nil
}

// conversion turns a recorded unit into the one asked for, rounded as the service does.
func conversion(unit any, q url.Values) (label any, convert func(float64) float64) {
	scale := func(factor, offset, precision float64) func(float64) float64 {
		return func(v float64) float64 { return math.Round((v*factor+offset)*precision) / precision }
	}
	switch {
	case unit == "°C" && q.Get("temperature_unit") == "fahrenheit":
		return "°F", scale(1.8, 32, 10)
	case unit == "km/h" && q.Get("wind_speed_unit") == "mph":
		return "mp/h", scale(1/1.609344, 0, 10)
	case unit == "mm" && q.Get("precipitation_unit") == "inch":
		return "inch", scale(1/25.4, 0, 1000)
	}
	return unit, func(v float64) float64 { return v }
}
