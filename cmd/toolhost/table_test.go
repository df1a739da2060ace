package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
)

func TestT11_Clip(t *testing.T) {
	tests := []struct {
		name, in string
		width    int
		want     string
	}{
		{"fits", "short", 5, "short"},
		{"cut", "a long description", 12, "a long…(+12)"},
		{"wide", "東京都千代田区丸の内", 12, "東京都…(+7)"},
		{"emoji stay whole", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 11, "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧…(+3)"},
		{"nothing fits", "abcdef", 2, "…(+6)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := clip(tt.in, tt.width)
			if got != tt.want {
				t.Errorf("clip(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
			}
		})
	}
}

func TestT11_ClipCapsCombiningMarks(t *testing.T) {
	zalgo := "a" + strings.Repeat("\u0301", 500) + "b" + strings.Repeat("\u0327", 8)
	want := "a" + strings.Repeat("\u0301", maxMarks) + "b" + strings.Repeat("\u0327", 8)
	if got := clip(zalgo, 10); got != want {
		t.Errorf("clip = %q, want %q", got, want)
	}
}

func TestT11_TableStaysInItsWidth(t *testing.T) {
	rows := [][]string{
		{"weather", "weather", "Weather", "The weather now and the next days, " + strings.Repeat("and more ", 40)},
		{strings.Repeat("long", 30), "東京都千代田区丸の内一丁目東京都千代田区丸の内一丁目", "", "two\nlines\r\nand a\ttab"},
		{"x", "y", "z" + strings.Repeat("\u0301", 90), "\x1b[2Jhidden\u202e"},
	}
	for _, width := range []int{60, 80, 137} {
		var b bytes.Buffer
		out := &terminal{file: &b, tty: true, width: func() int { return width }}
		if err := writeTable(out, []string{"NAME", "PLUGIN", "TITLE", "DESCRIPTION"}, rows); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != len(rows)+1 {
			t.Errorf("width %d: %d lines, want %d:\n%s", width, len(lines), len(rows)+1, b.String())
		}
		for _, line := range lines {
			if w := uniseg.StringWidth(line); w > width {
				t.Errorf("width %d: %d columns: %q", width, w, line)
			}
			marks := 0
			for _, r := range line {
				if unicode.Is(unicode.M, r) {
					marks++
				}
			}
			if marks > maxMarks {
				t.Errorf("width %d: %d combining marks in one line with one such character", width, marks)
			}
		}
		if d := dangerous(b.String()); d != "" {
			t.Errorf("width %d: %s in %q", width, d, b.String())
		}
	}
}

func TestT11_TableIsWholeWhenPiped(t *testing.T) {
	var b bytes.Buffer
	long := strings.Repeat("word ", 100) + "end"
	err := writeTable(&terminal{file: &b}, []string{"NAME", "DESCRIPTION"}, [][]string{{"a", long}, {"bbb", "x\x1b[1m"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "NAME  DESCRIPTION\na     " + long + "\nbbb   x\x1b[1m\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
