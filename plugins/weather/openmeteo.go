package main

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// openMeteo is the provider Open-Meteo.
type openMeteo struct {
	asker    asker
	base     string
	geocoder geocoder
}

func (openMeteo) attribution() string {
	return "Weather data by Open-Meteo.com (https://open-meteo.com/), CC BY 4.0"
}

// openMeteoAnswer is the part of an answer that is used. Any number may be
// missing or null.
type openMeteoAnswer struct {
	Timezone     string `json:"timezone"`
	UTCOffset    int    `json:"utc_offset_seconds"`
	CurrentUnits struct {
		Temperature string `json:"temperature_2m"`
	} `json:"current_units"`
	Current struct {
		Time          string   `json:"time"`
		Temperature   *float64 `json:"temperature_2m"`
		FeelsLike     *float64 `json:"apparent_temperature"`
		Humidity      *float64 `json:"relative_humidity_2m"`
		Code          *float64 `json:"weather_code"`
		WindSpeed     *float64 `json:"wind_speed_10m"`
		WindDirection *float64 `json:"wind_direction_10m"`
	} `json:"current"`
	Daily struct {
		Time          []string   `json:"time"`
		Code          []*float64 `json:"weather_code"`
		Max           []*float64 `json:"temperature_2m_max"`
		Min           []*float64 `json:"temperature_2m_min"`
		Precipitation []*float64 `json:"precipitation_sum"`
		Probability   []*float64 `json:"precipitation_probability_max"`
	} `json:"daily"`
}

func (o openMeteo) forecast(ctx context.Context, q query) (Report, error) {
	place, at, err := o.geocoder.locate(ctx, q)
	if err != nil {
		return Report{}, err
	}
	var answer openMeteoAnswer
	_, _, err = o.asker.get(ctx, request{provider: openMeteoName, url: o.url(at, q)}, &answer)
	if err != nil {
		return Report{}, err
	}
	if place.Timezone == "" {
		place.Timezone = answer.Timezone
	}
	current, err := o.current(answer, q)
	if err != nil {
		return Report{}, err
	}
	return Report{Place: place, Current: current, Daily: answer.days(q)}, nil
}

// url asks for what a report holds, in the units of the query.
func (o openMeteo) url(at coordinates, q query) string {
	params := url.Values{
		"latitude":  {at.latText()},
		"longitude": {at.lonText()},
		"timezone":  {"auto"},
		"current":   {"temperature_2m,apparent_temperature,relative_humidity_2m,weather_code,wind_speed_10m,wind_direction_10m"},
	}
	if q.days > 0 {
		params.Set("daily", "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max")
		params.Set("forecast_days", strconv.Itoa(q.days))
	}
	if q.units.imperial() {
		params.Set("temperature_unit", "fahrenheit")
		params.Set("wind_speed_unit", "mph")
		params.Set("precipitation_unit", "inch")
	}
	return o.base + "/v1/forecast?" + params.Encode()
}

// current checks that the answer is in the units asked for. Its times carry no
// zone; the offset is given beside them.
func (o openMeteo) current(answer openMeteoAnswer, q query) (Conditions, error) {
	c := answer.Current
	if c.Temperature == nil {
		return Conditions{}, malformed(openMeteoName, o.base, "answer has no current temperature")
	}
	if unit := answer.CurrentUnits.Temperature; unit != q.units.Temperature {
		return Conditions{}, malformed(openMeteoName, o.base, "answer is in %.20q, not in %s", unit, q.units.Temperature)
	}
	at, err := time.ParseInLocation("2006-01-02T15:04", c.Time, time.FixedZone("", answer.UTCOffset))
	if err != nil {
		return Conditions{}, malformed(openMeteoName, o.base, "unexpected time %.40q", c.Time)
	}
	return Conditions{
		Time:          at.Format(time.RFC3339),
		Condition:     wmoCondition(c.Code),
		Temperature:   *c.Temperature,
		FeelsLike:     c.FeelsLike,
		Humidity:      c.Humidity,
		WindSpeed:     c.WindSpeed,
		WindDirection: c.WindDirection,
	}, nil
}

// days turns the columns of the answer into rows.
func (a openMeteoAnswer) days(q query) []Day {
	d := a.Daily
	var days []Day
	for i, date := range d.Time[:min(len(d.Time), q.days)] {
		days = append(days, Day{
			Date:                     date,
			Condition:                wmoCondition(at(d.Code, i)),
			TemperatureMin:           at(d.Min, i),
			TemperatureMax:           at(d.Max, i),
			Precipitation:            at(d.Precipitation, i),
			PrecipitationProbability: at(d.Probability, i),
		})
	}
	return days
}

// at is list[i], or nil if the list is shorter.
func at(list []*float64, i int) *float64 {
	if i >= len(list) {
		return nil
	}
	return list[i]
}
