package jsonpointer

import "testing"

func TestEscape(t *testing.T) {
	for name, want := range map[string]string{"": "", "plain": "plain", "a/b": "a~1b", "a~b": "a~0b", "~1": "~01", "/~/": "~1~0~1"} {
		if got := Escape(name); got != want {
			t.Errorf("Escape(%q) = %q, want %q", name, got, want)
		}
		if got := Unescape(want); got != name {
			t.Errorf("Unescape(%q) = %q, want %q", want, got, name)
		}
	}
	if got := Unescape("a~b~"); got != "a~b~" {
		t.Errorf("a tilde that escapes nothing: %q", got)
	}
}
