package upstream

import (
	"net/http"
	"net/url"
	"strings"
)

func wttrRoutes() []route {
	return []route{{"GET " + WttrPath + "/{place}", serveWttr}}
}

// serveWttr answers with the recorded j1 document of a place, given by name or
// as "lat,lon". The one of São Paulo is wrapped in a data object.
func serveWttr(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if unknownParameter(q, "format") != "" || q.Get("format") != "j1" {
		http.Error(w, "only format=j1 is recorded", http.StatusBadRequest)
		return
	}
	name := r.PathValue("place")
	if fault, ok := faultOfName(name, "fault-"); ok {
		fault(w, r)
		return
	}
	p, ok := placeNamed(name)
	if lat, lon, isPair := strings.Cut(name, ","); !ok && isPair {
		la, lo, err := coordinates(url.Values{"lat": {lat}, "lon": {lon}}, "lat", "lon")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if fault, isFault := faultOfCoordinates(la, lo); isFault {
			fault(w, r)
			return
		}
		p, ok = placeAt(la, lo)
	}
	if !ok {
		http.Error(w, "Unknown location; please try ~"+name, http.StatusNotFound)
		return
	}
	body, err := record("wttr-" + p.slug + ".json")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBody(w, http.StatusOK, "application/json", body)
}
