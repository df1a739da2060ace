package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// wttr is the provider wttr.in, which finds places by itself.
type wttr struct {
	asker asker
	base  string
}

func (wttr) attribution() string {
	return "Weather by wttr.in (https://wttr.in/), data by World Weather Online"
}

func (w wttr) forecast(ctx context.Context, q query) (Report, error) {
	name := q.name
	if q.at != nil {
		name = q.at.String()
	}
	// wttr.in reads names that begin so as commands, domains and file names.
	if strings.ContainsAny(name[:1], ":@~.") {
		return Report{}, notFound(wttrName, w.base, 0, name, nil)
	}
	var answer wttrAnswer
	_, _, err := w.asker.get(ctx, request{provider: wttrName, url: w.base + "/" + url.PathEscape(name) + "?format=j1"}, &answer)
	var f *failure
	if errors.As(err, &f) && f.Status == http.StatusNotFound {
		return Report{}, notFound(wttrName, w.base, f.Status, name, nil)
	}
	if err != nil {
		return Report{}, err
	}
	doc := answer.wttrDocument
	if answer.Data != nil {
		doc = *answer.Data
	}
	if len(doc.Current) == 0 {
		return Report{}, malformed(wttrName, w.base, "answer has no current conditions")
	}
	current := doc.Current[0].conditions(q.units)
	if current == nil {
		return Report{}, malformed(wttrName, w.base, "answer has no current temperature")
	}
	r := Report{Place: doc.place(q, name), Current: *current}
	for _, d := range doc.Days[:min(len(doc.Days), q.days)] {
		r.Daily = append(r.Daily, d.day(q.units))
	}
	return r, nil
}

// place is the area that wttr.in found, or what was asked for.
func (d wttrDocument) place(q query, name string) Place {
	p := Place{Name: name}
	if len(d.Areas) > 0 {
		a := d.Areas[0]
		p.Region, p.Country = text(a.Region), text(a.Country)
		if found := text(a.Name); found != "" {
			p.Name = found
		}
		p.Latitude, p.Longitude = a.Latitude.v, a.Longitude.v
	}
	if q.at != nil {
		p.Latitude, p.Longitude = &q.at.lat, &q.at.lon
	}
	return p
}

// conditions is nil if there is no temperature.
func (c wttrCurrent) conditions(u Units) *Conditions {
	temperature, feels, wind := c.TempC.v, c.FeelsLikeC.v, c.WindKmph.v
	if u.imperial() {
		temperature, feels, wind = c.TempF.v, c.FeelsLikeF.v, c.WindMiles.v
	}
	if temperature == nil {
		return nil
	}
	out := &Conditions{
		Condition:     condition(c.Description),
		Temperature:   *temperature,
		FeelsLike:     feels,
		Humidity:      c.Humidity.v,
		WindSpeed:     wind,
		WindDirection: c.WindDegree.v,
	}
	// The time has no zone, and the answer names none.
	if t, err := time.Parse("2006-01-02 03:04 PM", c.LocalTime); err == nil {
		out.Time = t.Format("2006-01-02T15:04")
	}
	return out
}

// day takes the condition of noon, the sum of the precipitation and the
// highest chance of rain or snow.
func (d wttrDay) day(u Units) Day {
	out := Day{Date: d.Date, TemperatureMin: d.MinC.v, TemperatureMax: d.MaxC.v}
	if u.imperial() {
		out.TemperatureMin, out.TemperatureMax = d.MinF.v, d.MaxF.v
	}
	var amount *float64
	for _, h := range d.Hourly {
		if h.Time == "1200" {
			out.Condition = condition(h.Description)
		}
		if mm := h.PrecipMM.v; mm != nil {
			sum := *mm
			if amount != nil {
				sum += *amount
			}
			amount = &sum
		}
		for _, chance := range []*float64{h.Rain.v, h.Snow.v} {
			if chance != nil && (out.PrecipitationProbability == nil || *chance > *out.PrecipitationProbability) {
				out.PrecipitationProbability = chance
			}
		}
	}
	out.Precipitation = mapped(amount, u.amount)
	return out
}
