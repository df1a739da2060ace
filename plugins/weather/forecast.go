package main

import (
	"context"
	"fmt"
	"net/http"
)

// The providers' names, as in settings and reports.
const (
	openMeteoName = "open-meteo"
	metNoName     = "met.no"
	wttrName      = "wttr.in"
)

// provider is one weather service. It fills the place, the weather and the
// notes of a report in the units of the query. Its errors are *failure, or the
// cause of the context's end.
type provider interface {
	forecast(ctx context.Context, q query) (Report, error)
	attribution() string
}

// forecaster answers for the tool. It may be used concurrently.
type forecaster struct {
	name     string
	provider provider
}

// newForecaster returns the forecaster that the settings ask for.
func newForecaster(s Settings, client *http.Client) (*forecaster, error) {
	s, timeout, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	a := asker{client: client, userAgent: s.UserAgent, timeout: timeout}
	g := geocoder{asker: a, base: s.Geocoding}
	providers := map[string]provider{
		openMeteoName: openMeteo{asker: a, base: s.OpenMeteo, geocoder: g},
		metNoName:     newMetNo(a, s.MetNo, g),
		wttrName:      wttr{asker: a, base: s.Wttr},
	}
	p, ok := providers[s.Provider]
	if !ok {
		return nil, fmt.Errorf("settings: at /provider: %q is none of open-meteo, met.no, wttr.in", s.Provider)
	}
	return &forecaster{name: s.Provider, provider: p}, nil
}

// forecast does the tool's work.
func (f *forecaster) forecast(ctx context.Context, in Input) (Report, error) {
	q, err := understand(in)
	if err != nil {
		return Report{}, err
	}
	r, err := f.provider.forecast(ctx, q)
	if err != nil {
		return Report{}, err
	}
	if r.Daily == nil {
		r.Daily = []Day{}
	}
	if len(r.Daily) < q.days {
		r.Notes = append(r.Notes, fmt.Sprintf("%s forecasts %d of the %d days asked for", f.name, len(r.Daily), q.days))
	}
	r.Units, r.Provider, r.Attribution = q.units, f.name, f.provider.attribution()
	return r, nil
}
