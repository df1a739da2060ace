package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun_ServesUntilTheLifelineEnds starts the program as make does, reads
// its line and its configuration, fetches through them, and ends stdin.
func TestRun_ServesUntilTheLifelineEnds(t *testing.T) {
	config := filepath.Join(t.TempDir(), "toolhost.yaml")
	stdin, lifeline := io.Pipe()
	stdout, out := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends when run does; joined by <-done
		done <- run(t.Context(), []string{"-config", config, "-plugins", "some dir", "-lifeline"}, stdin, out, io.Discard)
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	root := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(line)
	if root == "" || !strings.Contains(line, "RECORDED") || !strings.Contains(line, config) {
		t.Fatalf("line %q", line)
	}
	checkConfig(t, config, root)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(root + "/geocoding/v1/search?name=Berlin&count=1")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("geocoder: status %d", resp.StatusCode)
	}

	_ = lifeline.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("run: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("still running a minute after the end of stdin")
	}
	if _, err := client.Get(root + "/"); err == nil {
		t.Error("the server still answers")
	}
}

// checkConfig holds the file to the format of toolhost.yaml (design 6).
func checkConfig(t *testing.T, file, root string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Plugins map[string]struct {
			Path     string
			Settings map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("some dir")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weather", "webfetch"} {
		if got, want := config.Plugins[name].Path, filepath.Join(dir, "toolplugin-"+name); got != want {
			t.Errorf("%s: path %q, want %q", name, got, want)
		}
	}
	weather := config.Plugins["weather"].Settings
	for key, path := range map[string]string{
		"openMeteo": "/open-meteo", "geocoding": "/geocoding", "metNo": "/met.no", "wttr": "/wttr.in",
	} {
		if weather[key] != root+path {
			t.Errorf("weather: %s is %v, want %s", key, weather[key], root+path)
		}
	}
	allow, _ := config.Plugins["webfetch"].Settings["allow"].([]any)
	if len(allow) != 1 || "http://"+allow[0].(string) != root {
		t.Errorf("webfetch: allow is %v, want the address of %s", allow, root)
	}
}

func TestRun_StopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdout, out := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends when run does; joined by <-done
		done <- run(ctx, nil, strings.NewReader(""), out, io.Discard)
	}()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestRun_Refuses(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		usage bool
		text  string
	}{
		{"unknown flag", []string{"-nosuch"}, true, ""},
		{"argument", []string{"x"}, true, ""},
		{"every interface", []string{"-addr", ":0"}, false, "not a loopback address"},
		{"public address", []string{"-addr", "192.0.2.1:0"}, false, "not a loopback address"},
		{"no directory", []string{"-config", "/nonexistent/toolhost.yaml"}, false, "toolhost.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), tt.args, strings.NewReader(""), io.Discard, io.Discard)
			if err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v; want usage %v and %q", err, tt.usage, tt.text)
			}
		})
	}
}
