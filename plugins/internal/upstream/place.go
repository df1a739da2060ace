package upstream

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// faultLatitude marks coordinates whose forecast fails: the longitude is the
// fault's index in the table of faults.
const faultLatitude = -89.5

// place is one recorded place: its files are SERVICE-slug.json.
type place struct {
	slug     string
	names    []string // lower case
	lat, lon float64
}

func places() []place {
	return []place{
		{"berlin", []string{"berlin"}, 52.52, 13.41},
		{"newyork", []string{"new york"}, 40.71, -74.01},
		{"saopaulo", []string{"são paulo", "sao paulo"}, -23.55, -46.64},
	}
}

// placeNamed finds a recorded place by its name, in any case.
func placeNamed(name string) (place, bool) {
	for _, p := range places() {
		if slices.Contains(p.names, strings.ToLower(name)) {
			return p, true
		}
	}
	return place{}, false
}

// placeAt finds the recorded place within half a degree of the coordinates.
func placeAt(lat, lon float64) (place, bool) {
	for _, p := range places() {
		if math.Abs(p.lat-lat) <= 0.5 && math.Abs(p.lon-lon) <= 0.5 {
			return p, true
		}
	}
	return place{}, false
}

// coordinates reads two numbers of a query. The error reads like Open-Meteo's.
func coordinates(q url.Values, latKey, lonKey string) (lat, lon float64, err error) {
	read := func(key string, limit float64) float64 {
		v, parseErr := strconv.ParseFloat(q.Get(key), 64)
		switch {
		case err != nil:
		case parseErr != nil:
			err = fmt.Errorf("parameter %q must be a number", key)
		case !(math.Abs(v) <= limit):
			err = fmt.Errorf("parameter %q must be in range of -%v to %v. Given: %v", key, limit, limit, v)
		}
		return v
	}
	lat, lon = read(latKey, 90), read(lonKey, 180)
	return lat, lon, err
}

// unknownParameter names a query parameter that is not one of known, or that
// is given more than once; it is empty if there is none.
func unknownParameter(q url.Values, known ...string) string {
	for key, values := range q {
		if !slices.Contains(known, key) || len(values) != 1 {
			return key
		}
	}
	return ""
}
