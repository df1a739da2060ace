// Package weather is the tool that every peer serves: small JSON in and out, both with a schema. It links nothing, so that
// no peer pays for another.
package weather

import (
	"encoding/json"
	"errors"
)

// InSchema is the schema of the input.
const InSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"location":{"type":"string","minLength":1,"description":"A city"},"units":{"type":"string","enum":["metric","imperial"]},"days":{"type":"integer","minimum":1,"maximum":14}},"required":["location"],"additionalProperties":false}`

// OutSchema is the schema of the output.
const OutSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"location":{"type":"string"},"temperature":{"type":"number"},"conditions":{"type":"string","enum":["sunny","cloudy","rain"]},"humidity":{"type":"number","minimum":0,"maximum":100},"days":{"type":"integer"}},"required":["location","temperature","conditions","humidity"],"additionalProperties":false}`

// Input is what every call sends.
const Input = `{"location":"Paris","units":"metric","days":3}`

// In is the typed input.
type In struct {
	Location string `json:"location"`
	Units    string `json:"units,omitempty"`
	Days     int    `json:"days,omitempty"`
}

// Out is the typed output.
type Out struct {
	Location    string  `json:"location"`
	Temperature float64 `json:"temperature"`
	Conditions  string  `json:"conditions"`
	Humidity    float64 `json:"humidity"`
	Days        int     `json:"days,omitempty"`
}

// Forecast is the tool.
func Forecast(in In) (Out, error) {
	if in.Location == "" {
		return Out{}, errors.New("no location")
	}
	return Out{Location: in.Location, Temperature: 21.5, Conditions: "sunny", Humidity: 40, Days: in.Days}, nil
}

// ForecastJSON is the tool on JSON, as a plugin that types its input has it.
func ForecastJSON(text []byte) ([]byte, error) {
	var in In
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	out, err := Forecast(in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
