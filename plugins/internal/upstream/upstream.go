// Package upstream serves recorded answers of the services that the plugins
// of this repository call, so that tests and demonstrations need no network.
//
// The bodies under testdata were written by hand in the shapes the services
// answer with; they are not measurements. A handler answers by request (place,
// units, days) and refuses what the real service would refuse: an unknown
// query parameter, coordinates with too many decimals, a User-Agent without a
// contact. See [Handler] for the addresses and the fault places.
package upstream

import (
	"embed"
	"encoding/json"
	"net/http"
	"strconv"
)

// Paths below which each recorded service answers, as in [Handler].
const (
	OpenMeteoPath = "/open-meteo"
	GeocodingPath = "/geocoding"
	MetNoPath     = "/met.no"
	WttrPath      = "/wttr.in"
	PagesPath     = "/pages"
)

// Handler serves every recorded service:
//
//	GET /open-meteo/v1/forecast                             Open-Meteo forecast
//	GET /geocoding/v1/search                                Open-Meteo geocoder
//	GET /met.no/weatherapi/locationforecast/2.0/compact     met.no
//	GET /wttr.in/{place}?format=j1                          wttr.in
//	GET /pages/...                                          web pages
//
// Berlin, New York and São Paulo are recorded, by name and by coordinates
// within half a degree; Nowhere Halt is known to the geocoder only. A place
// named "fault-NAME" makes the service that is asked for it fail as NAME says
// (see [Faults]); a place named "forecast-fault-NAME" is found by the geocoder,
// and the forecast for its coordinates fails.
//
// The handler holds no state and may be used by many servers at once.
func Handler() http.Handler {
	mux := http.NewServeMux()
	for _, table := range [][]route{openMeteoRoutes(), metNoRoutes(), wttrRoutes(), pageRoutes()} {
		for _, r := range table {
			mux.HandleFunc(r.pattern, r.handle)
		}
	}
	return mux
}

// route is one entry of the handler table: a pattern of [http.ServeMux] and
// what answers it.
type route struct {
	pattern string
	handle  http.HandlerFunc
}

//go:embed testdata
var recorded embed.FS

// record returns the recorded body testdata/name.
func record(name string) ([]byte, error) {
	return recorded.ReadFile("testdata/" + name)
}

// writeJSON answers with status and v as JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBody(w, status, "application/json; charset=utf-8", body)
}

// writeBody answers with status, the content type and the body.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone: nobody is left to tell
}
