package mcpserver

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// written is a connection that keeps the contexts of what is written.
type written struct {
	mcp.Connection
	by []context.Context
}

func (w *written) Write(ctx context.Context, _ jsonrpc.Message) error {
	w.by = append(w.by, ctx)
	return nil
}

// A question ends with its call also after a notification, which goes out whatever has ended.
func TestSender_NotificationsLeaveTheCallItsEnd(t *testing.T) {
	l := newLink(host.Caller{})
	w := &written{}
	l.Connection = w
	ctx, cancel := context.WithCancel(t.Context())
	send := l.sender(ctx, nil)
	id, err := jsonrpc.MakeID("ask-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range []*jsonrpc.Request{{Method: "notifications/progress"}, {Method: "elicitation/create", ID: id}, {Method: "notifications/cancelled"}} {
		if err := send(msg); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if notice, question, late := w.by[0], w.by[1], w.by[2]; notice.Err() != nil || question.Err() == nil || late.Err() != nil {
		t.Errorf("after the end of the call: %v, %v, %v", notice.Err(), question.Err(), late.Err())
	}
}
