//go:build linux

package launch

import (
	"fmt"
	"strings"
	"testing"
)

func TestL1_NoiseBeforeTheHandshake(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 300<<10)
	tests := map[string]struct {
		noise, line string
		want        []string
	}{
		"lines":      {"hello\n\n{\"@message\":1}\na|b|c|d|e|f\n1 | 1\n", "1|1|unix|/x|grpc\n", []string{"hello", "", `{"@message":1}`, "a|b|c|d|e|f", "1 | 1"}},
		"no newline": {"loading... ", "1|1|unix|/x|grpc|\n", []string{"loading... "}},
		"long line":  {long + "\n", "1|1|unix|/x|grpc\r\n", []string{long[:64<<10]}},
		"empty cert": {"", "1|1|unix|/x|grpc|\n", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			noise := "print:" + tt.noise
			if name == "long line" { // too long for an argument
				noise = "lines:stdout,1,307200"
				tt.want[0] = ("0 " + strings.Repeat("y", 64<<10))[:64<<10]
			}
			p := start(t, newLauncher(t), self(s, noise, "print:"+tt.line, "print:after\n", "serve", "stdin"))
			p.Kill()
			ended(t, p)
			var got []string
			for _, l := range s.all() {
				got = append(got, string(l.Text))
			}
			if want := append(tt.want, "after"); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("lines %.200q, want %.200q", got, want)
			}
		})
	}
}

func TestL1_TooMuchNoise(t *testing.T) {
	for name, step := range map[string]string{"lines": "lines:stdout,2000,1000", "no newline": "block:2000000"} {
		t.Run(name, func(t *testing.T) {
			e := refuse(t, newLauncher(t), self(nil, step, "hang"))
			if e.Cause != CauseHandshake || !strings.Contains(e.Error(), "KiB on stdout and no handshake") {
				t.Errorf("%v", e)
			}
		})
	}
}

func TestH2_HandshakesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	cert := strings.Repeat("MIIB", 300)
	tests := []struct {
		line  string
		cause Cause
		says  string
	}{
		{"1|1|unix|/x|grpc|" + cert, CauseHandshake, "a certificate that nobody asked for"},
		{"1|1|unix|/x|grpc|x", CauseHandshake, "a certificate"},
		{"1|1|unix|/x|grpc||true", CauseHandshake, "7 fields"},
		{"1|1|unix|/x|grpc|" + cert + "|true", CauseHandshake, "7 fields"},
		{"1|1|unix|/x|grpc|" + strings.Repeat("|", 5000), CauseHandshake, "fields"},
		{"1|1|unix|/x", CauseHandshake, "4 fields"},
		{"1|1", CauseHandshake, "2 fields"},
		{"2|1|unix|/x|grpc", CauseHandshake, `core protocol "2"`},
		{"99999999999999999999|1|unix|/x|grpc", CauseHandshake, "core protocol"},
		{"1|2|unix|/x|grpc", CauseVersion, "the plugin speaks version 2, the host 1"},
		{"1|0|unix|/x|grpc", CauseVersion, "version 0"},
		{"01|1|unix|/x|grpc", CauseHandshake, "core protocol"},
		{"1|1|tcp|127.0.0.1:1|grpc", CauseHandshake, `network "tcp"`},
		{"1|1|udp|/x|grpc", CauseHandshake, `network "udp"`},
		{"1|1|unix||grpc", CauseHandshake, "address"},
		{"1|1|unix|/x\x1b[2J|grpc", CauseHandshake, "address"},
		{"1|1|unix|/" + strings.Repeat("x", 5000) + "|grpc", CauseHandshake, "address"},
		{"1|1|unix|/x|netrpc", CauseHandshake, `protocol "netrpc"`},
		{"1|1|unix|/x|", CauseHandshake, `protocol ""`},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%.30q", tt.line), func(t *testing.T) {
			e := refuse(t, l, self(nil, "print:"+tt.line+"\n", "serve", "hang"))
			if e.Cause != tt.cause || !strings.Contains(e.Error(), tt.says) || !e.Exit.Killed {
				t.Errorf("cause %q: %v", e.Cause, e)
			}
		})
	}
}

// H1: nothing on stderr is anything but text.
func TestH1_AnyBytesOnStderr(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"@message":1,"@level":[],"@timestamp":{}}`,
		`{"@message":null,"@level":null,"@timestamp":null}`,
		`{"@message":"m","@level":"info","@timestamp":"not a time"}`,
		`{"@message":[1,2],"@level":{"a":1},"@timestamp":[[]]}`,
		`{"@level":"error","@message":{"@message":{}}}`,
		`[]`, `null`, `1e400`, `"`, `{`, strings.Repeat("[", 10000), "[ERROR] x", "[TRACE", "a\x1b[0mb", "\xff\xfe\xf0", "\ufeff{}",
		"panic: not really", strings.Repeat("q", 60000),
	}
	s := &sink{}
	steps := []string{"ignore:15", "eprint:early\n"}
	for _, line := range lines {
		steps = append(steps, "eprint:"+line+"\n")
	}
	p := start(t, newLauncher(t), self(s, append(steps, shake, "serve", "lines:stderr,1,1048576", "stdin", "exit:0")...))
	if err := healthy(p); err != nil {
		t.Error(err)
	}
	p.Stop(2*soon, 0)
	ended(t, p)
	got := s.all()
	if len(got) != len(lines)+3 { // "early", the mebibyte, "stdin ended"
		t.Fatalf("%d lines", len(got))
	}
	for i, line := range lines {
		if string(got[i+1].Text) != line || got[i+1].Stream != "stderr" || got[i+1].Cut != 0 {
			t.Errorf("line %d: %.80q, want %.80q", i, got[i+1].Text, line)
		}
	}
	if big := got[len(lines)+1]; len(big.Text) != 64<<10 || big.Cut != 1<<20-1-64<<10 {
		t.Errorf("a line of 1 MiB: %d bytes, cut %d", len(big.Text), big.Cut)
	}
	if e := p.Exit(); e.Panic != "" || e.Cause != CauseExited {
		t.Errorf("%q was taken for a panic", e.Panic)
	}
}
