package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// geocodingName is how the geocoder is named in failures.
const geocodingName = "open-meteo geocoding"

// geocoder finds places by name with Open-Meteo's geocoder.
type geocoder struct {
	asker asker
	base  string
}

// geocodingHit is one place. Almost every field may be missing for small places.
type geocodingHit struct {
	Name        string   `json:"name"`
	Latitude    *float64 `json:"latitude"`
	Longitude   *float64 `json:"longitude"`
	CountryCode string   `json:"country_code"`
	Country     string   `json:"country"`
	Admin1      string   `json:"admin1"`
	Admin2      string   `json:"admin2"`
	Admin3      string   `json:"admin3"`
	Timezone    string   `json:"timezone"`
}

// locate returns the place of a query: the point itself if it has coordinates,
// else the geocoder's best hit. "Paris, Texas" asks for the Paris whose region
// or country is Texas; the failure lists the others if there is none.
func (g geocoder) locate(ctx context.Context, q query) (Place, coordinates, error) {
	if q.at != nil {
		return Place{Name: q.at.String(), Latitude: &q.at.lat, Longitude: &q.at.lon}, *q.at, nil
	}
	name, within := splitName(q.name)
	if name == "" {
		return Place{}, coordinates{}, invalid("location %q names no place", q.name)
	}
	count := "1"
	if len(within) > 0 {
		count = "10"
	}
	params := url.Values{"name": {name}, "count": {count}, "language": {"en"}, "format": {"json"}}
	var answer struct {
		Results []geocodingHit `json:"results"`
	}
	_, _, err := g.asker.get(ctx, request{provider: geocodingName, url: g.base + "/v1/search?" + params.Encode()}, &answer)
	if err != nil {
		return Place{}, coordinates{}, err
	}
	for _, hit := range answer.Results {
		if hit.Latitude == nil || hit.Longitude == nil {
			return Place{}, coordinates{}, malformed(geocodingName, g.base, "hit without coordinates for %q", name)
		}
		if hit.isWithin(within) {
			at := atPoint(*hit.Latitude, *hit.Longitude)
			return Place{hit.Name, hit.Admin1, hit.Country, &at.lat, &at.lon, hit.Timezone}, at, nil
		}
	}
	return Place{}, coordinates{}, notFound(geocodingName, g.base, http.StatusOK, q.name, answer.Results)
}

// splitName splits "Paris, Texas, US" into the name and what it lies in.
func splitName(text string) (name string, within []string) {
	name, rest, _ := strings.Cut(text, ",")
	for part := range strings.SplitSeq(rest, ",") {
		if part = strings.TrimSpace(part); part != "" {
			within = append(within, part)
		}
	}
	return strings.TrimSpace(name), within
}

// isWithin reports whether the place lies in every one of the regions or
// countries.
func (h geocodingHit) isWithin(names []string) bool {
	short := map[string]string{"usa": "US", "uk": "GB", "uae": "AE"}
	for _, name := range names {
		if code, ok := short[strings.ToLower(name)]; ok {
			name = code
		}
		in := false
		for _, known := range []string{h.CountryCode, h.Country, h.Admin1, h.Admin2, h.Admin3} {
			in = in || strings.EqualFold(known, name)
		}
		if !in {
			return false
		}
	}
	return true
}

// notFound is the failure of a name that no place has, with the places of that
// name elsewhere. status is that of the answer, 0 if nobody was asked.
func notFound(provider, base string, status int, name string, others []geocodingHit) error {
	f := &failure{Provider: provider, Status: status}
	if u, err := url.Parse(base); err == nil {
		f.Host = u.Host
	}
	text := fmt.Sprintf("no place named %q", name)
	for i, hit := range others[:min(len(others), 5)] {
		sep := "; "
		if i == 0 {
			text, sep = text+", but ", ""
		}
		text += sep + strings.Join(nonEmpty(hit.Name, hit.Admin1, hit.Country), ", ")
	}
	return f.as(kindNotFound, nil, "%s", text)
}

// nonEmpty returns the values that are not empty.
func nonEmpty(values ...string) []string {
	var kept []string
	for _, v := range values {
		if v != "" {
			kept = append(kept, v)
		}
	}
	return kept
}
