package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Settings is the plugin's configuration. Every field may be left out.
type Settings struct {
	Provider  string `json:"provider,omitempty" jsonschema:"enum=open-meteo,enum=met.no,enum=wttr.in,default=open-meteo" jsonschema_description:"The service that is asked for forecasts."`
	OpenMeteo string `json:"openMeteo,omitempty" jsonschema:"default=https://api.open-meteo.com" jsonschema_description:"Base URL of Open-Meteo's forecasts."`
	Geocoding string `json:"geocoding,omitempty" jsonschema:"default=https://geocoding-api.open-meteo.com" jsonschema_description:"Base URL of Open-Meteo's geocoder, which also serves met.no."`
	MetNo     string `json:"metNo,omitempty" jsonschema:"default=https://api.met.no" jsonschema_description:"Base URL of met.no."`
	Wttr      string `json:"wttr,omitempty" jsonschema:"default=https://wttr.in" jsonschema_description:"Base URL of wttr.in."`
	UserAgent string `json:"userAgent,omitempty" jsonschema_description:"Sent with every request. met.no demands the application's name and a contact in it; put your own."`
	Timeout   string `json:"timeout,omitempty" jsonschema:"default=10s" jsonschema_description:"How long one request may take, such as 10s or 1500ms. A forecast takes up to two requests."`
}

// defaultUserAgent names the project as the contact.
const defaultUserAgent = "toolhost-weather/0.1 (+https://github.com/toolhost/toolhost)"

// withDefaults fills the fields that were left out and checks the others.
func (s Settings) withDefaults() (Settings, time.Duration, error) {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&s.Provider, openMeteoName)
	fill(&s.OpenMeteo, "https://api.open-meteo.com")
	fill(&s.Geocoding, "https://geocoding-api.open-meteo.com")
	fill(&s.MetNo, "https://api.met.no")
	fill(&s.Wttr, "https://wttr.in")
	fill(&s.UserAgent, defaultUserAgent)
	fill(&s.Timeout, "10s")
	for name, base := range map[string]*string{
		"openMeteo": &s.OpenMeteo, "geocoding": &s.Geocoding, "metNo": &s.MetNo, "wttr": &s.Wttr,
	} {
		u, err := url.Parse(*base)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return s, 0, fmt.Errorf("settings: at /%s: %q is not an http or https base URL", name, *base)
		}
		*base = strings.TrimRight(*base, "/")
	}
	if strings.ContainsAny(s.UserAgent, "\r\n") {
		return s, 0, fmt.Errorf("settings: at /userAgent: has a line break")
	}
	timeout, err := time.ParseDuration(s.Timeout)
	if err != nil || timeout <= 0 {
		return s, 0, fmt.Errorf("settings: at /timeout: %q is not a positive duration such as 10s", s.Timeout)
	}
	return s, timeout, nil
}
