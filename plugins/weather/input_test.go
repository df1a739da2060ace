package main

import (
	"errors"
	"strings"
	"testing"
)

func TestUnderstand_Coordinates(t *testing.T) {
	tests := []struct{ location, want string }{
		{"52.52,13.41", "52.52,13.41"},
		{" 52.52 , 13.41 ", "52.52,13.41"},
		{"+52.,-0", "52,0"},
		{"-0.00001,179.99996", "0,180"},
		{"-90,-180", "-90,-180"},
		{"90,180", "90,180"},
	}
	for _, tt := range tests {
		q, err := understand(Input{Location: tt.location})
		if err != nil || q.at == nil || q.name != "" || q.at.String() != tt.want {
			t.Errorf("%q: query %+v, error %v; want the point %s", tt.location, q, err, tt.want)
		}
	}
	for _, name := range []string{"Berlin", "Paris, Texas", "10115", "NaN,NaN", "0x10,1e3", "1,2,3", "52.52", "'s-Hertogenbosch"} {
		q, err := understand(Input{Location: name})
		if err != nil || q.at != nil || q.name != name {
			t.Errorf("%q: query %+v, error %v; want a name", name, q, err)
		}
	}
}

func TestUnderstand_Refuses(t *testing.T) {
	tests := []struct {
		in   Input
		text string
	}{
		{Input{Location: " "}, "location must have"},
		{Input{Location: strings.Repeat("é", 201)}, "location must have"},
		{Input{Location: "90.1,0"}, "latitude 90.1 is outside -90 to 90"},
		{Input{Location: "0,-180.01"}, "longitude -180.01 is outside -180 to 180"},
		{Input{Location: strings.Repeat("9", 190) + ",0"}, "latitude"},
		{Input{Location: "Berlin", Units: "kelvin"}, `units "kelvin"`},
		{Input{Location: "Berlin", Days: -1}, "days -1 is outside 0 to 7"},
		{Input{Location: "Berlin", Days: 8}, "days 8 is outside 0 to 7"},
	}
	for _, tt := range tests {
		_, err := understand(tt.in)
		var f *failure
		if !errors.As(err, &f) || f.Kind != kindInput || f.Retryable || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%+v: error %v, want %q", tt.in, err, tt.text)
		}
	}
}

// TestLocate checks how a region or country picks among places of one name,
// and what is said when none fits.
func TestLocate(t *testing.T) {
	tests := []struct{ location, region, text string }{
		{"Berlin", "Land Berlin", ""},
		{"Berlin, Germany", "Land Berlin", ""},
		{"berlin,usa", "New Hampshire", ""},
		{"Berlin, Coos, new hampshire, US", "New Hampshire", ""},
		{"Berlin, France", "", `no place named "Berlin, France", but Berlin, Land Berlin, Germany; Berlin, New Hampshire, United States`},
		{"Nowhere Halt, Norway", "", `but Nowhere Halt`},
		{"Nowhere Halt", "", ""},
		{", Germany", "", "names no place"},
	}
	s := newService(t)
	g := s.forecaster(t, Settings{}).provider.(openMeteo).geocoder
	for _, tt := range tests {
		place, _, err := g.locate(t.Context(), query{name: tt.location})
		if (err != nil) != (tt.text != "") || err != nil && !strings.Contains(err.Error(), tt.text) || place.Region != tt.region {
			t.Errorf("%q: place %+v, error %v; want region %q, error %q", tt.location, place, err, tt.region, tt.text)
		}
	}
}
