package main

import "math"

// Report is what the tool answers.
type Report struct {
	Place       Place      `json:"place"`
	Units       Units      `json:"units"`
	Current     Conditions `json:"current"`
	Daily       []Day      `json:"daily,omitzero" jsonschema:"required" jsonschema_description:"One entry a day, today first, in the place's local time. May be shorter than asked for; notes say why."`
	Provider    string     `json:"provider" jsonschema:"enum=open-meteo,enum=met.no,enum=wttr.in"`
	Attribution string     `json:"attribution" jsonschema_description:"Must be shown where the data is shown."`
	Notes       []string   `json:"notes,omitempty" jsonschema_description:"What limits this report."`
}

// Place is where the report is for.
type Place struct {
	Name      string   `json:"name" jsonschema_description:"The coordinates, if the place was given by them and the provider names none."`
	Region    string   `json:"region,omitempty"`
	Country   string   `json:"country,omitempty"`
	Latitude  *float64 `json:"latitude,omitempty" jsonschema:"minimum=-90,maximum=90"`
	Longitude *float64 `json:"longitude,omitempty" jsonschema:"minimum=-180,maximum=180"`
	Timezone  string   `json:"timezone,omitempty" jsonschema_description:"IANA name such as Europe/Berlin."`
}

// Conditions is the weather at one time. What the provider does not say is absent.
type Conditions struct {
	Time          string   `json:"time,omitempty" jsonschema_description:"ISO 8601 in the place's local time, with the offset from UTC where the provider gives it."`
	Condition     string   `json:"condition" jsonschema:"example=partly cloudy"`
	Temperature   float64  `json:"temperature"`
	FeelsLike     *float64 `json:"feelsLike,omitempty"`
	Humidity      *float64 `json:"humidity,omitempty" jsonschema_description:"Relative humidity in percent."`
	WindSpeed     *float64 `json:"windSpeed,omitempty"`
	WindDirection *float64 `json:"windDirection,omitempty" jsonschema_description:"Where the wind comes from, in degrees clockwise from north."`
}

// Day is the forecast of one day. What the provider does not say is absent.
type Day struct {
	Date                     string   `json:"date" jsonschema:"format=date"`
	Condition                string   `json:"condition,omitempty"`
	TemperatureMin           *float64 `json:"temperatureMin,omitempty"`
	TemperatureMax           *float64 `json:"temperatureMax,omitempty"`
	Precipitation            *float64 `json:"precipitation,omitempty" jsonschema_description:"Amount of rain and melted snow over the day."`
	PrecipitationProbability *float64 `json:"precipitationProbability,omitempty" jsonschema_description:"In percent."`
}

// Units names the units of every number in a Report.
type Units struct {
	System        string `json:"system" jsonschema:"enum=metric,enum=imperial"`
	Temperature   string `json:"temperature" jsonschema:"enum=°C,enum=°F"`
	WindSpeed     string `json:"windSpeed" jsonschema:"enum=km/h,enum=mph"`
	Precipitation string `json:"precipitation" jsonschema:"enum=mm,enum=in"`
}

// unitsNamed returns the units of a system; if name is empty, metric.
func unitsNamed(name string) (Units, error) {
	switch name {
	case "", "metric":
		return Units{"metric", "°C", "km/h", "mm"}, nil
	case "imperial":
		return Units{"imperial", "°F", "mph", "in"}, nil
	}
	return Units{}, invalid("units %q is neither metric nor imperial", name)
}

func (u Units) imperial() bool { return u.System == "imperial" }

// temperature converts from °C.
func (u Units) temperature(celsius float64) float64 {
	if u.imperial() {
		return round1(celsius*9/5 + 32)
	}
	return round1(celsius)
}

// speed converts from metres a second.
func (u Units) speed(ms float64) float64 {
	if u.imperial() {
		return round1(ms * 3600 / 1609.344)
	}
	return round1(ms * 3.6)
}

// amount converts from millimetres.
func (u Units) amount(mm float64) float64 {
	if u.imperial() {
		return math.Round(mm/25.4*100) / 100
	}
	return round1(mm)
}

// round1 rounds to one decimal, and -0 to 0.
func round1(v float64) float64 { return math.Round(v*10)/10 + 0 }
