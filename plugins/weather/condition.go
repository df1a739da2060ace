package main

import (
	"fmt"
	"strings"
)

// wmoCondition is the text of a WMO weather code as Open-Meteo gives it.
func wmoCondition(code *float64) string {
	if code == nil {
		return "unknown"
	}
	switch *code {
	case 0:
		return "clear sky"
	case 1:
		return "mainly clear"
	case 2:
		return "partly cloudy"
	case 3:
		return "overcast"
	case 45:
		return "fog"
	case 48:
		return "depositing rime fog"
	case 51, 53, 55:
		return graded(*code-51, "drizzle")
	case 56, 57:
		return graded((*code-56)*4, "freezing drizzle")
	case 61, 63, 65:
		return graded(*code-61, "rain")
	case 66, 67:
		return graded((*code-66)*4, "freezing rain")
	case 71, 73, 75:
		return graded(*code-71, "snow")
	case 77:
		return "snow grains"
	case 80, 81, 82:
		return graded((*code-80)*2, "rain showers")
	case 85, 86:
		return graded((*code-85)*4, "snow showers")
	case 95:
		return "thunderstorm"
	case 96, 99:
		return "thunderstorm with hail"
	}
	return fmt.Sprintf("weather code %v", *code)
}

// graded puts the intensity before a kind of weather: 0 light, 2 moderate, 4 heavy.
func graded(intensity float64, kind string) string {
	switch intensity {
	case 0:
		return "light " + kind
	case 4:
		return "heavy " + kind
	}
	return "moderate " + kind
}

// symbolCondition is the text of a met.no symbol code, such as
// lightrainshowersandthunder_day. A symbol of another form is its own text.
func symbolCondition(symbol string) string {
	base, _, _ := strings.Cut(symbol, "_")
	switch base {
	case "":
		return "unknown"
	case "clearsky":
		return "clear sky"
	case "partlycloudy":
		return "partly cloudy"
	}
	kind, thunder := strings.CutSuffix(base, "andthunder")
	kind, showers := strings.CutSuffix(kind, "showers")
	intensity := ""
	for _, word := range []string{"light", "heavy"} {
		if rest, ok := strings.CutPrefix(kind, word); ok {
			intensity, kind = word+" ", rest
		}
	}
	// met.no spells two symbols lightssleet... and lightssnow...
	if strings.HasPrefix(kind, "ss") {
		kind = kind[1:]
	}
	text := intensity + kind
	if showers {
		text += " showers"
	}
	if thunder {
		text += " and thunder"
	}
	return text
}
