package upstream

import (
	"encoding/json"
	"net/http"
	"regexp"
	"time"
)

// metNoLifetime is how long a recorded met.no answer says that it is fresh.
const metNoLifetime = 30 * time.Minute

func metNoRoutes() []route {
	return []route{{"GET " + MetNoPath + "/weatherapi/locationforecast/2.0/compact", serveMetNo}}
}

// serveMetNo holds the caller to met.no's terms: a User-Agent with a contact,
// at most four decimals. It answers If-Modified-Since with 304.
func serveMetNo(w http.ResponseWriter, r *http.Request) {
	contact := regexp.MustCompile(`https?://[^\s)]+|[^\s@]+@[^\s@]+\.[^\s@]+`)
	decimals := regexp.MustCompile(`^-?[0-9]+(\.[0-9]{1,4})?$`)
	q := r.URL.Query()
	lat, lon, err := coordinates(q, "lat", "lon")
	switch {
	case !contact.MatchString(r.UserAgent()):
		http.Error(w, "Forbidden: identify yourself in the User-Agent", http.StatusForbidden)
		return
	case unknownParameter(q, "lat", "lon", "altitude") != "":
		http.Error(w, "unknown or repeated parameter", http.StatusBadRequest)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case !decimals.MatchString(q.Get("lat")) || !decimals.MatchString(q.Get("lon")):
		http.Error(w, "Forbidden: more than four decimals", http.StatusForbidden)
		return
	}
	if fault, ok := faultOfCoordinates(lat, lon); ok {
		fault(w, r)
		return
	}
	p, ok := placeAt(lat, lon)
	if !ok {
		http.Error(w, "no recorded forecast for these coordinates", http.StatusUnprocessableEntity)
		return
	}
	body, updated, err := metNoRecord(p)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Expires", time.Now().Add(metNoLifetime).UTC().Format(http.TimeFormat))
	w.Header().Set("Last-Modified", updated.UTC().Format(http.TimeFormat))
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	if err == nil && !updated.After(since) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeBody(w, http.StatusOK, "application/json", body)
}

// metNoRecord returns the recorded body and when it was last updated.
func metNoRecord(p place) ([]byte, time.Time, error) {
	body, err := record("metno-" + p.slug + ".json")
	if err != nil {
		return nil, time.Time{}, err
	}
	var head struct {
		Properties struct {
			Meta struct {
				UpdatedAt time.Time `json:"updated_at"`
			} `json:"meta"`
		} `json:"properties"`
	}
	err = json.Unmarshal(body, &head)
	return body, head.Properties.Meta.UpdatedAt, err
}
