package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Input is what the model gives the tool.
type Input struct {
	Location string `json:"location" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"Place name in any language, if needed with region or country (Paris, Texas), or coordinates as latitude,longitude in decimal degrees (52.52,13.41)."`
	Units    string `json:"units,omitempty" jsonschema:"enum=metric,enum=imperial,default=metric" jsonschema_description:"metric: °C, km/h, mm. imperial: °F, mph, in."`
	Days     int    `json:"days,omitempty" jsonschema:"minimum=0,maximum=7,default=1" jsonschema_description:"How many days to forecast, today included; 0 for the current weather only."`
}

// maxDays is the most days that may be asked for.
const maxDays = 7

// query is an Input that has been understood.
type query struct {
	name  string       // the place's name; empty if at is given
	at    *coordinates // nil if the place is given by name
	units Units
	days  int
}

// coordinates are in decimal degrees, with four decimals (11 m), which is what
// met.no accepts.
type coordinates struct{ lat, lon float64 }

func (c coordinates) latText() string { return strconv.FormatFloat(c.lat, 'f', -1, 64) }
func (c coordinates) lonText() string { return strconv.FormatFloat(c.lon, 'f', -1, 64) }
func (c coordinates) String() string  { return c.latText() + "," + c.lonText() }

// understand turns an Input into a query. Its error is a *failure that says
// what is wrong with which value.
func understand(in Input) (query, error) {
	q := query{days: in.Days}
	var err error
	if q.units, err = unitsNamed(in.Units); err != nil {
		return query{}, err
	}
	if in.Days < 0 || in.Days > maxDays {
		return query{}, invalid("days %d is outside 0 to %d", in.Days, maxDays)
	}
	location := strings.TrimSpace(in.Location)
	if location == "" || utf8.RuneCountInString(location) > 200 {
		return query{}, invalid("location must have 1 to 200 characters")
	}
	if q.at, err = parseCoordinates(location); err != nil {
		return query{}, err
	}
	if q.at == nil {
		q.name = location
	}
	return q, nil
}

// parseCoordinates returns nil if the text is not two numbers with a comma
// between them.
func parseCoordinates(text string) (*coordinates, error) {
	pair := regexp.MustCompile(`^([+-]?[0-9]+(?:\.[0-9]*)?)\s*,\s*([+-]?[0-9]+(?:\.[0-9]*)?)$`)
	m := pair.FindStringSubmatch(text)
	if m == nil {
		return nil, nil
	}
	lat, latErr := strconv.ParseFloat(m[1], 64)
	lon, lonErr := strconv.ParseFloat(m[2], 64)
	switch {
	case latErr != nil || math.Abs(lat) > 90:
		return nil, invalid("location %s: latitude %s is outside -90 to 90", text, m[1])
	case lonErr != nil || math.Abs(lon) > 180:
		return nil, invalid("location %s: longitude %s is outside -180 to 180", text, m[2])
	}
	c := atPoint(lat, lon)
	return &c, nil
}

// atPoint rounds to four decimals. Adding zero turns -0 into 0.
func atPoint(lat, lon float64) coordinates {
	return coordinates{math.Round(lat*1e4)/1e4 + 0, math.Round(lon*1e4)/1e4 + 0}
}

// invalid is the failure of an input that cannot be understood.
func invalid(format string, args ...any) error {
	return &failure{Kind: kindInput, cause: fmt.Sprintf(format, args...)}
}
