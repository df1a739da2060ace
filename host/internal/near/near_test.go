package near

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	among := []string{"path", "args", "env", "settings", "sha256", "sandbox", "weather", "weather_alerts", "webfetch", "forecast-hourly"}
	tests := []struct {
		name string
		want []string
	}{
		{"pth", []string{"path"}},
		{"setings", []string{"settings"}},
		{"Sandbox", []string{"sandbox"}},
		{"SHA265", []string{"sha256"}},
		{"evn", nil}, // 2 of 3 bytes differ
		{"en", []string{"env"}},
		{"weather", []string{"weather", "weather_alerts"}},
		{"weather_alert", []string{"weather_alerts", "weather"}},
		{"myweather", []string{"weather"}},
		{"forcast_hourlies", []string{"forecast-hourly"}}, // 4 of 16
		{"zzzzzz", nil},
		{"t", nil}, // five names hold it
		{"", nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Names(tt.name, among)); diff != "" {
			t.Errorf("Names(%q) (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A model may send a name of any length, and a directory may hold any number of tools.
func TestNames_Bounds(t *testing.T) {
	among := []string{"tool-d", "tool-b", "tool-c", "tool-a", ""}
	if diff := cmp.Diff([]string{"tool-a", "tool-b", "tool-c"}, Names("tool", among)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	long := strings.Repeat("x", 1<<20)
	if d := distance(long, "y"+long); d > 2 {
		t.Errorf("distance %d, of texts that are to be cut to 64 bytes", d)
	}
}
