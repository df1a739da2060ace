package main

import "time"

// metNoDay gathers the steps of one local day, in °C and mm.
type metNoDay struct {
	date     string
	min, max *float64
	amount   *float64
	symbol   string
	fromNoon time.Duration // of the step that gave the symbol
}

// metNoDays makes days of the steps: the extremes of the temperatures, the sum
// of the precipitation, the symbol of the step nearest to noon.
func metNoDays(steps []metNoStep, q query, zone *time.Location) []Day {
	var days []metNoDay
	for i, s := range steps {
		date := s.Time.In(zone).Format(time.DateOnly)
		if len(days) == 0 || days[len(days)-1].date != date {
			if len(days) == q.days {
				break
			}
			days = append(days, metNoDay{date: date})
		}
		days[len(days)-1].add(s, untilNext(steps, i), zone)
	}
	var out []Day
	for _, d := range days {
		day := Day{
			Date:           d.date,
			TemperatureMin: mapped(d.min, q.units.temperature),
			TemperatureMax: mapped(d.max, q.units.temperature),
			Precipitation:  mapped(d.amount, q.units.amount),
		}
		if d.symbol != "" {
			day.Condition = symbolCondition(d.symbol)
		}
		out = append(out, day)
	}
	return out
}

// untilNext is the time that step i stands for; 0 for the last one.
func untilNext(steps []metNoStep, i int) time.Duration {
	if i+1 == len(steps) {
		return 0
	}
	return steps[i+1].Time.Sub(steps[i].Time)
}

// add takes one step in. Its precipitation is that of the period up to the
// next step, so that overlapping periods are not counted twice.
func (d *metNoDay) add(s metNoStep, span time.Duration, zone *time.Location) {
	if t := s.Data.Instant.Details.Temperature; t != nil {
		if d.min == nil || *t < *d.min {
			d.min = t
		}
		if d.max == nil || *t > *d.max {
			d.max = t
		}
	}
	period := s.Data.Next6
	if span > 0 && span < 6*time.Hour {
		period = s.Data.Next1
	}
	if period != nil && period.Details.Precipitation != nil {
		sum := *period.Details.Precipitation
		if d.amount != nil {
			sum += *d.amount
		}
		d.amount = &sum
	}
	local := s.Time.In(zone)
	noon := time.Date(local.Year(), local.Month(), local.Day(), 12, 0, 0, 0, zone)
	if away := local.Sub(noon).Abs(); s.symbol() != "" && (d.symbol == "" || away < d.fromNoon) {
		d.symbol, d.fromNoon = s.symbol(), away
	}
}
