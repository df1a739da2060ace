package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// sees reads a stream until a notification comes, on a channel.
func sees(resp *http.Response, method string) <-chan map[string]any {
	ch := make(chan map[string]any, 10)
	go func() { // ends with the stream
		defer resp.Body.Close()
		for r := bufio.NewScanner(resp.Body); r.Scan(); {
			for _, m := range messagesOf(r.Text()) {
				if m["method"] == method {
					ch <- m
				}
			}
		}
	}()
	return ch
}

func TestR14_AChangeOfToolsIsToldToEveryClient(t *testing.T) {
	s := newServer(t, Config{Host: newHost(t, host.Config{}, "growing")})
	std := startStdio(t, s)
	std.shake()
	std.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	std.answerTo(1.0)
	c := startHTTP(t, s)
	c.shake()
	c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const changed = "notifications/tools/list_changed"
	get := sees(c.request(ctx, http.MethodGet, ""), changed)
	resp := c.request(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`, modernCall("subscriptions/listen", "")...)
	sub := sees(resp, changed)
	c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"grow","arguments":{"name":"newer"}}}`)
	for name, ch := range map[string]<-chan map[string]any{"GET": get, "listen": sub} {
		select {
		case m := <-ch:
			if name == "listen" && dig(m, "params", "_meta", "io.modelcontextprotocol/subscriptionId") != "sub" {
				t.Errorf("%s: got %v", name, m)
			}
		case <-time.After(patience):
			t.Fatalf("%s: nothing is told", name)
		}
	}
	if m := std.next(); m["method"] != changed {
		t.Errorf("stdio: got %v", m)
	}
	std.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if m := std.answerTo(3.0); !strings.Contains(fmt.Sprint(m), "newer") {
		t.Errorf("the list is stale: %v", m)
	}
	std.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"newest"}}`)
	if m := std.answerTo(5.0); dig(m, "error", "code") != -32602.0 {
		t.Errorf("a stale name gets %v", m)
	}
}

func TestR14_AChangeIsToldOverStdioInBothEras(t *testing.T) {
	for i, open := range []string{
		`{"jsonrpc":"2.0","id":"sub","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`,
	} {
		s := newServer(t, Config{Host: newHost(t, host.Config{}, "growing")})
		c := startStdio(t, s)
		if strings.Contains(open, "tools/list") {
			c.shake()
		}
		c.send(open)
		if m := c.next(); strings.Contains(open, "listen") && dig(m, "params", "_meta", "io.modelcontextprotocol/subscriptionId") != "sub" {
			t.Errorf("listening is acknowledged by %v", m)
		}
		if _, err := s.host.Call(t.Context(), host.Call{Tool: "grow", Input: fmt.Appendf(nil, `{"name":"newer%d"}`, i)}); err != nil {
			t.Fatal(err)
		}
		m := c.next()
		if m["method"] != "notifications/tools/list_changed" || i == 1 && dig(m, "params", "_meta", "io.modelcontextprotocol/subscriptionId") != "sub" {
			t.Errorf("got %v", m)
		}
	}
}

func TestR14_WhatChangesNothingIsNotTold(t *testing.T) {
	s := newServer(t, Config{})
	defer s.present(host.Caller{Channel: "http"})()
	s.told(host.Caller{Channel: "http"}, s.listing(host.Caller{Channel: "http"}))
	if err := s.host.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.changed() {
		t.Error("a reload that changes nothing is a change")
	}
	s.told(host.Caller{Channel: "http", Subject: "x"}, &listing{}) // is nobody that is there
	if n := len(s.audience.byOf); n != 1 {
		t.Errorf("%d callers are told", n)
	}
}

func TestR12_EveryToolIsOnOnePage(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	_, all := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, modernCall("tools/list", "")...)
	tools, _ := dig(all[0], "result", "tools").([]any)
	var names []string
	for _, x := range tools {
		names = append(names, dig(x, "name").(string))
	}
	if len(names) != len(wireTools()) || !slices.IsSorted(names) || dig(all[0], "result", "nextCursor") != nil {
		t.Errorf("got %v, next %v", names, dig(all[0], "result", "nextCursor"))
	}
}

func TestList_IsTheCallers(t *testing.T) {
	h := newHost(t, host.Config{Policy: host.Policy{Rules: []host.Rule{{Action: host.Deny, Tool: "echo", Caller: host.CallerMatch{Subject: "bob"}}}}})
	s := newServer(t, Config{Host: h, Verify: verify})
	c := startHTTP(t, s)
	for name, want := range map[string]bool{"ada": true, "bob": false} {
		c.header.Set("Authorization", "Bearer "+name+"-token")
		_, all := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, modernCall("tools/list", "")...)
		if got := strings.Contains(fmt.Sprint(all), "name:echo"); got != want {
			t.Errorf("%s sees echo: %t", name, got)
		}
		status, _ := c.post(echoCall(","+modernMeta), modernCall("tools/call", "echo")...)
		if (status == 200) != want {
			t.Errorf("%s calls echo: %d", name, status)
		}
	}
}

func TestList_IsMadeOnceWhileNothingChanges(t *testing.T) {
	s := newServer(t, Config{})
	a := s.listing(host.Caller{Channel: "http", Session: "1"})
	if b := s.listing(host.Caller{Channel: "http", Session: "2"}); a != b {
		t.Error("the list is made again for another session")
	}
	if s.known(host.Caller{Channel: "http"}) != a || a.generation.Load() != s.host.Generation() {
		t.Error("the list is made again for a call")
	}
	for i := range mostListings + 2 {
		s.listing(host.Caller{Subject: fmt.Sprint(i)})
	}
	if n := len(s.lists.byOf); n > mostListings {
		t.Errorf("%d lists are kept", n)
	}
	if b := s.listing(host.Caller{Channel: "http"}); !reflect.DeepEqual(a.json, b.json) {
		t.Error("the list differs")
	}
}

func BenchmarkList_Unchanged(b *testing.B) {
	s := newServer(b, Config{})
	caller := host.Caller{Channel: "mcp"}
	s.listing(caller)
	for b.Loop() {
		s.listing(caller)
	}
}
