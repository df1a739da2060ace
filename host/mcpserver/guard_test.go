package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
)

func TestR41_R42_ForeignHostsAndOriginsAreForbidden(t *testing.T) {
	s := newServer(t, Config{AllowedHosts: []string{"tools.example.com"}, AllowedOrigins: []string{"https://app.example.com"}})
	c := startHTTP(t, s)
	c.shake()
	here := strings.TrimPrefix(c.url, "http://")
	for _, x := range []struct {
		name   string
		header []string
		status int
		says   string
	}{
		{"own", nil, 200, ""},
		{"localhost", []string{"Host", "localhost:1"}, 200, ""},
		{"foreign host", []string{"Host", "evil.example.com"}, 403, "--allowed-host evil.example.com"},
		{"foreign address", []string{"Host", "10.0.0.1"}, 403, "--allowed-host 10.0.0.1"},
		{"allowed host", []string{"Host", "tools.example.com"}, 200, ""},
		{"allowed host with port", []string{"Host", "tools.example.com:8443"}, 200, ""},
		{"own origin", []string{"Origin", "http://" + here}, 200, ""},
		{"foreign origin", []string{"Origin", "http://evil.example.com"}, 403, "AllowedOrigins"},
		{"other port", []string{"Origin", "http://127.0.0.1:1"}, 403, ""},
		{"own origin with a user", []string{"Origin", "http://evil.example.com@" + here}, 403, ""},
		{"own origin with a path", []string{"Origin", "http://" + here + "/x"}, 403, ""},
		{"null origin", []string{"Origin", "null"}, 403, ""},
		{"allowed origin", []string{"Origin", "https://app.example.com"}, 200, ""},
		{"origin of an allowed host", []string{"Host", "tools.example.com", "Origin", "https://tools.example.com"}, 200, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.t = t
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				if method != http.MethodPost && x.status == 200 {
					continue
				}
				resp := c.request(t.Context(), method, ping, x.header...)
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != x.status || !strings.Contains(string(body), x.says) {
					t.Errorf("%s: %s %s", method, resp.Status, body)
				}
			}
			// The modern era has the same guard.
			if status, _ := c.post(echoCall(","+modernMeta), append(modernCall("tools/call", "echo"), x.header...)...); status != x.status {
				t.Errorf("modern: %d", status)
			}
		})
	}
	c.t = t
	resp := c.request(t.Context(), http.MethodOptions, "", "Origin", "https://app.example.com")
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("preflight: %s %v", resp.Status, resp.Header)
	}
	if status, _ := c.post(ping); status != 200 {
		t.Errorf("the session is gone: %d", status)
	}
}

// verify knows the tokens that are a name and "-token".
func verify(_ context.Context, token string) (host.Caller, error) {
	name, ok := strings.CutSuffix(token, "-token")
	if !ok {
		return host.Caller{}, errors.New("there is no token " + token)
	}
	return host.Caller{Subject: name, Channel: "terminal", Session: "mine"}, nil
}

func TestT37_ATokenIsNeededAndNeverShown(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	s := newServer(t, Config{Verify: verify, Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))})
	c := startHTTP(t, s)
	for _, h := range []string{"", "Basic YTpi", "Bearer", "Bearer secret-of-nobody"} {
		c.header.Set("Authorization", h)
		resp := c.request(t.Context(), http.MethodPost, initialize)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%q: %s %v", h, resp.Status, resp.Header)
		}
		if strings.Contains(string(body), "secret-of-nobody") {
			t.Errorf("the answer shows the token: %s", body)
		}
	}
	c.header.Set("Authorization", "Bearer ada-token")
	c.shake()
	if status, all := c.post(echoCall("")); status != 200 {
		t.Errorf("got %d %v", status, all)
	}
	resp := c.request(t.Context(), http.MethodPost, ping, "Authorization", "Bearer bob-token")
	resp.Body.Close()
	mu.Lock()
	defer mu.Unlock()
	for _, secret := range []string{"secret-of-nobody", "ada-token", "bob-token", c.session} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %s:\n%s", secret, &log)
		}
	}
	if !strings.Contains(log.String(), "not accepted") {
		t.Errorf("the log says nothing of a bad token:\n%s", &log)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestT36_ACallerIsWhatTheTokenSays(t *testing.T) {
	var got []host.Caller
	var mu sync.Mutex
	h := newHost(t, host.Config{Policy: host.Policy{Func: func(_ context.Context, c host.PolicyCall) (host.Action, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, c.Caller)
		return host.Allow, nil
	}}})
	s := newServer(t, Config{Verify: verify, Host: h})
	c := startHTTP(t, s)
	c.header.Set("Authorization", "Bearer ada-token")
	c.post(strings.Replace(echoCall(","+modernMeta), `"_meta":{`, `"_meta":{"subject":"root","caller":{"subject":"root"},`, 1), append(modernCall("tools/call", "echo"), "X-Subject", "root")...)
	c.shake()
	c.post(echoCall(""))
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 2 {
		t.Fatalf("%d calls", len(got))
	}
	for i, g := range got {
		if g.Subject != "ada" || g.Channel != "http" || (i == 0) != (g.Session == "") || g.Session == c.session {
			t.Errorf("call %d is by %+v", i, g)
		}
	}
}
