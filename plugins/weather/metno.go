package main

import (
	"context"
	"net/url"
	"time"
	_ "time/tzdata" // days are local days; a sandbox may lack the system's zones
)

// metNo is the provider met.no (MET Norway). Its terms: a User-Agent with a
// contact, at most four decimals, no request before an answer expires, and
// If-Modified-Since afterwards.
type metNo struct {
	asker    asker
	base     string
	geocoder geocoder
	cache    *metNoCache
}

func newMetNo(a asker, base string, g geocoder) metNo {
	return metNo{asker: a, base: base, geocoder: g, cache: newMetNoCache(time.Now)}
}

func (metNo) attribution() string {
	return "Weather data by MET Norway (https://api.met.no/), CC BY 4.0; places by Open-Meteo.com and GeoNames"
}

// metNoAnswer is the part of an answer that is used.
type metNoAnswer struct {
	Properties struct {
		Timeseries []metNoStep `json:"timeseries"`
	} `json:"properties"`
}

// metNoStep is one time of the series. The periods vanish towards its end.
type metNoStep struct {
	Time time.Time `json:"time"`
	Data struct {
		Instant struct {
			Details struct {
				Temperature   *float64 `json:"air_temperature"`
				Humidity      *float64 `json:"relative_humidity"`
				WindDirection *float64 `json:"wind_from_direction"`
				WindSpeed     *float64 `json:"wind_speed"`
			} `json:"details"`
		} `json:"instant"`
		Next1  *metNoPeriod `json:"next_1_hours"`
		Next6  *metNoPeriod `json:"next_6_hours"`
		Next12 *metNoPeriod `json:"next_12_hours"`
	} `json:"data"`
}

// metNoPeriod is the weather of the hours after a step.
type metNoPeriod struct {
	Summary struct {
		Symbol string `json:"symbol_code"`
	} `json:"summary"`
	Details struct {
		Precipitation *float64 `json:"precipitation_amount"`
	} `json:"details"`
}

func (m metNo) forecast(ctx context.Context, q query) (Report, error) {
	place, at, err := m.geocoder.locate(ctx, q)
	if err != nil {
		return Report{}, err
	}
	answer, err := m.series(ctx, at)
	if err != nil {
		return Report{}, err
	}
	steps := answer.Properties.Timeseries
	if len(steps) == 0 || steps[0].Data.Instant.Details.Temperature == nil {
		return Report{}, malformed(metNoName, m.base, "answer has no current temperature")
	}
	var notes []string
	zone, err := time.LoadLocation(place.Timezone)
	if err != nil || place.Timezone == "" {
		zone = time.UTC
		notes = append(notes, "the place's time zone is not known: times and days are in UTC")
	}
	if q.days > 0 {
		notes = append(notes, "today's forecast covers the hours still to come")
	}
	return Report{
		Place:   place,
		Current: steps[0].conditions(q.units, zone),
		Daily:   metNoDays(steps, q, zone),
		Notes:   notes,
	}, nil
}

// series returns the answer for a point: the one in memory while it is fresh.
func (m metNo) series(ctx context.Context, c coordinates) (*metNoAnswer, error) {
	params := url.Values{"lat": {c.latText()}, "lon": {c.lonText()}}
	target := m.base + "/weatherapi/locationforecast/2.0/compact?" + params.Encode()
	known, expired := m.cache.get(target)
	if known.answer != nil && !expired {
		return known.answer, nil
	}
	var answer metNoAnswer
	header, fresh, err := m.asker.get(ctx, request{provider: metNoName, url: target, since: known.modified}, &answer)
	if err != nil {
		return nil, err
	}
	if fresh {
		known = metNoEntry{answer: &answer, modified: header.Get("Last-Modified")}
	}
	m.cache.put(target, known, header.Get("Expires"))
	return known.answer, nil
}

// conditions of the step, which is the current hour if it is the first.
func (s metNoStep) conditions(u Units, zone *time.Location) Conditions {
	d := s.Data.Instant.Details
	return Conditions{
		Time:          s.Time.In(zone).Format(time.RFC3339),
		Condition:     symbolCondition(s.symbol()),
		Temperature:   u.temperature(*d.Temperature),
		Humidity:      d.Humidity,
		WindSpeed:     mapped(d.WindSpeed, u.speed),
		WindDirection: d.WindDirection,
	}
}

// symbol of the shortest period that the step has.
func (s metNoStep) symbol() string {
	for _, period := range []*metNoPeriod{s.Data.Next1, s.Data.Next6, s.Data.Next12} {
		if period != nil && period.Summary.Symbol != "" {
			return period.Summary.Symbol
		}
	}
	return ""
}

// mapped applies f to what is there.
func mapped(v *float64, f func(float64) float64) *float64 {
	if v == nil {
		return nil
	}
	w := f(*v)
	return &w
}
