package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// client is an MCP client that looks at the very bytes.
type client struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	id  int
}

// export serves a host to a client over stdio, in the era of 2025-11-25 or of 2026-07-28, until the test ends.
func export(t *testing.T, h *host.Host, modern bool) *client {
	t.Helper()
	s, err := mcpserver.New(mcpserver.Config{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(context.Background(), in, out) }() // ends with toServer; joined below
	t.Cleanup(func() {
		toServer.Close()
		fromServer.Close()
		<-served
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &client{t: t, in: toServer, out: bufio.NewScanner(fromServer)}
	c.out.Buffer(nil, 16<<20)
	if !modern {
		c.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// request returns the result.
func (c *client) request(method, params string) rawjson.Object {
	c.t.Helper()
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	for c.out.Scan() {
		o, ok := rawjson.ParseObject([]byte(strings.Clone(c.out.Text())))
		if !ok {
			c.t.Fatal(c.out.Text())
		}
		if string(o.Get("id")) != fmt.Sprint(c.id) {
			continue
		}
		result, ok := rawjson.ParseObject(o.Get("result"))
		if !ok {
			c.t.Fatalf("%s: %s", method, c.out.Text())
		}
		return result
	}
	c.t.Fatalf("%s: no answer: %v", method, c.out.Err())
	return nil
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`

// params adds to the members of a request what the era wants.
func params(modern bool, members string) string {
	switch {
	case !modern:
		return "{" + members + "}"
	case members == "":
		return "{" + modernMeta + "}"
	}
	return "{" + members + "," + modernMeta + "}"
}

// TestR20_ImportAndExport: what a server says of its tools and in its results reaches the clients of this host byte for byte, in
// both eras, however unknown it is.
func TestR20_ImportAndExport(t *testing.T) {
	members := map[string]string{
		"name":         `"t"`,
		"title":        `"The <t>"`,
		"description":  `"does"`,
		"inputSchema":  `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}`,
		"outputSchema": `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
		"icons":        `[{"src":"https://example.com/i.png","mimeType":"image/png","x":1.0}]`,
		"_meta":        `{"example.com/m":{"n":9007199254740993}}`,
		"execution":    `{"taskSupport":"optional"}`,
		"x-vendor":     `[1,2.50]`,
	}
	annotations := map[string]string{"title": `"T"`, "readOnlyHint": `true`, "destructiveHint": `false`, "vendor/hint": `{"a":1e2}`}
	blocks := []string{
		`{"type":"text","text":"n is 9007199254740993","annotations":{"audience":["user"],"priority":0,"vendor":1.0},"_meta":{"k":9007199254740993}}`,
		`{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png","annotations":{"priority":0.5}}`,
		`{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`,
		`{"type":"resource","resource":{"uri":"a://b","mimeType":"text/plain","text":"t","_meta":{"n":1.0}},"annotations":{"priority":0}}`,
		`{"type":"resource_link","uri":"a://b","name":"n","size":9007199254740993}`,
	}
	f := &fake{tools: []string{"{" + join(members) + `,"annotations":{` + join(annotations) + "}}"}}
	f.result(`{"structuredContent":{"n":9007199254740993,"f":1.10},"content":[` + strings.Join(blocks, ",") + `],"_meta":{"example.com/r":9007199254740993}}`)
	h := f.open(t, someSettings)
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern=%t", modern), func(t *testing.T) {
			c := export(t, h, modern)
			var list []json.RawMessage
			if err := json.Unmarshal(c.request("tools/list", params(modern, "")).Get("tools"), &list); err != nil || len(list) != 1 {
				t.Fatal(err, len(list))
			}
			tool, _ := rawjson.ParseObject(list[0])
			hints, ok := rawjson.ParseObject(tool.Get("annotations"))
			if !ok {
				t.Fatalf("the tool is %s", list[0])
			}
			same(t, "tool", members, tool.Without("annotations"))
			same(t, "annotations", annotations, hints)

			result := c.request("tools/call", params(modern, `"name":"t","arguments":{"n":9007199254740993}`))
			if got := string(f.last().arguments); got != `{"n":9007199254740993}` {
				t.Errorf("the server got %s", got)
			}
			if got := string(result.Get("structuredContent")); got != `{"n":9007199254740993,"f":1.10}` {
				t.Errorf("structuredContent %s", got)
			}
			var got []json.RawMessage
			if err := json.Unmarshal(result.Get("content"), &got); err != nil || len(got) != len(blocks) {
				t.Fatalf("content %s", result.Get("content"))
			}
			for i, want := range blocks {
				was, _ := rawjson.ParseObject([]byte(want))
				is, ok := rawjson.ParseObject(got[i])
				if !ok {
					t.Fatalf("block %d is %s", i, got[i])
				}
				wanted := map[string]string{}
				for _, m := range was {
					wanted[m.Name] = string(m.Value)
				}
				same(t, fmt.Sprintf("block %d", i), wanted, is)
			}
			meta, ok := rawjson.ParseObject(result.Get("_meta"))
			if !ok || string(meta.Get("example.com/r")) != "9007199254740993" {
				t.Errorf("the result's _meta: %s", result.Get("_meta"))
			}
		})
	}
}

// TestR20_StructuredContentWithoutASchema: it is exported as it came, although no schema announces it; and a result that has none gets none.
func TestR20_StructuredContentWithoutASchema(t *testing.T) {
	for result, want := range map[string]string{
		`{"structuredContent":{"n":1.10},"content":[{"type":"text","text":"one"}]}`: `{"n":1.10}`,
		`{"structuredContent":{"n":1.10}}`:                                          `{"n":1.10}`,
		`{"content":[{"type":"text","text":"one"}]}`:                                ``,
	} {
		f := &fake{tools: []string{plain("t")}}
		f.result(result)
		got := export(t, f.open(t, someSettings), true).request("tools/call", params(true, `"name":"t"`))
		if string(got.Get("structuredContent")) != want || len(got.Get("content")) <= len("[]") {
			t.Errorf("%s is exported as %s", result, got.Raw())
		}
	}
}

// TestR18_ErrorsAreExportedWithTheirContent, and without structuredContent.
func TestR18_ErrorsAreExportedWithTheirContent(t *testing.T) {
	f := &fake{tools: []string{`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]}}`}}
	content := `[{"type":"text","text":"no"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]`
	f.result(`{"isError":true,"structuredContent":{"code":1},"content":` + content + `}`)
	h := f.open(t, someSettings)
	for _, modern := range []bool{false, true} {
		result := export(t, h, modern).request("tools/call", params(modern, `"name":"t","arguments":{}`))
		if string(result.Get("isError")) != "true" || result.Get("structuredContent") != nil {
			t.Errorf("modern %t: %s", modern, result.Raw())
		}
		if got := string(result.Get("content")); !strings.Contains(got, `"iVBORw0KGgo="`) || !strings.Contains(got, "no") {
			t.Errorf("modern %t: content %s", modern, got)
		}
	}
}

func join(members map[string]string) string {
	var all []string
	for name, value := range members {
		all = append(all, string(rawjson.Quote(name))+":"+value)
	}
	return strings.Join(all, ",")
}

// same compares the members of an object, whatever their order, byte for byte.
func same(t *testing.T, what string, want map[string]string, o rawjson.Object) {
	t.Helper()
	got := map[string]string{}
	for _, m := range o {
		got[m.Name] = string(m.Value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
