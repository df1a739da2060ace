package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// wttrAnswer is a j1 document, which some answers wrap in a data object.
type wttrAnswer struct {
	wttrDocument
	Data *wttrDocument `json:"data"`
}

// wttrDocument is the part of a j1 document that is used.
type wttrDocument struct {
	Current []wttrCurrent `json:"current_condition"`
	Areas   []wttrArea    `json:"nearest_area"`
	Days    []wttrDay     `json:"weather"`
}

type wttrCurrent struct {
	TempC       wttrNumber  `json:"temp_C"`
	TempF       wttrNumber  `json:"temp_F"`
	FeelsLikeC  wttrNumber  `json:"FeelsLikeC"`
	FeelsLikeF  wttrNumber  `json:"FeelsLikeF"`
	Humidity    wttrNumber  `json:"humidity"`
	WindDegree  wttrNumber  `json:"winddirDegree"`
	WindKmph    wttrNumber  `json:"windspeedKmph"`
	WindMiles   wttrNumber  `json:"windspeedMiles"`
	LocalTime   string      `json:"localObsDateTime"`
	Description []wttrValue `json:"weatherDesc"`
}

type wttrArea struct {
	Name      []wttrValue `json:"areaName"`
	Country   []wttrValue `json:"country"`
	Region    []wttrValue `json:"region"`
	Latitude  wttrNumber  `json:"latitude"`
	Longitude wttrNumber  `json:"longitude"`
}

type wttrDay struct {
	Date   string     `json:"date"`
	MaxC   wttrNumber `json:"maxtempC"`
	MaxF   wttrNumber `json:"maxtempF"`
	MinC   wttrNumber `json:"mintempC"`
	MinF   wttrNumber `json:"mintempF"`
	Hourly []wttrHour `json:"hourly"`
}

type wttrHour struct {
	Time        string      `json:"time"` // 0, 300, ... 2100
	PrecipMM    wttrNumber  `json:"precipMM"`
	Rain        wttrNumber  `json:"chanceofrain"`
	Snow        wttrNumber  `json:"chanceofsnow"`
	Description []wttrValue `json:"weatherDesc"`
}

type wttrValue struct {
	Value string `json:"value"`
}

// text is the first value, trimmed.
func text(values []wttrValue) string {
	if len(values) == 0 {
		return ""
	}
	return strings.TrimSpace(values[0].Value)
}

// condition is a description in lower case, as the other providers have it.
func condition(values []wttrValue) string {
	if t := text(values); t != "" {
		return strings.ToLower(t)
	}
	return "unknown"
}

// wttrNumber is a number written as a string; v is nil if the string is empty.
type wttrNumber struct{ v *float64 }

// UnmarshalJSON accepts a string and, to be safe, a number.
func (n *wttrNumber) UnmarshalJSON(data []byte) error {
	s := string(data)
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
	}
	if s = strings.TrimSpace(s); s == "" || s == "null" {
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%.40q is not a number", s)
	}
	n.v = &v
	return nil
}
