package config

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

func TestT16_Definitions(t *testing.T) {
	for text, want := range map[string]host.Definitions{
		"": host.DefinitionsWarn, "definitions: warn": host.DefinitionsWarn, "definitions: review": host.DefinitionsReview,
		"definitions: off": host.DefinitionsOff, // which is no truth value here
	} {
		f, err := Parse("toolhost.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := f.Config().Definitions; got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
	f, err := Parse("toolhost.yaml", []byte("plugins: {a: {path: a}, b: {path: b, definitions: review}}"))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := f.Plugins[0].Definitions, f.Plugins[1].Definitions; a != nil || b == nil || *b != host.DefinitionsReview {
		t.Errorf("of plugins: got %v and %v", a, b)
	}
	for _, text := range []string{"definitions: strict", "definitions: false", "definitions: 1", "definitions: {}"} {
		if _, err := Parse("toolhost.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "write one of warn review off") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
