package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// gated is a writer that lets nothing pass before it is opened, and counts the lines by their beginnings.
type gated struct {
	open  chan struct{}
	large int
	other []string
}

func (g *gated) Write(b []byte) (int, error) {
	<-g.open
	for line := range bytes.Lines(b) {
		if len(line) > 1<<20 {
			g.large++
		} else {
			g.other = append(g.other, string(line))
		}
	}
	return len(b), nil
}

// R24: the answers that a client does not read are bounded by their bytes, too: what is too much is dropped and said, and new calls are
// refused from half of it on. When the client reads again, nothing of it is left.
func TestR24_UnreadAnswersAreBoundedInBytes(t *testing.T) {
	const size, calls = 4 << 20, 2 * maxUnread / (4 << 20)
	out := &gated{open: make(chan struct{})}
	p := newPipe(t.Context(), strings.NewReader(""), out, 1<<20, slog.New(slog.DiscardHandler))
	answer := []byte(`"` + strings.Repeat("x", size-2) + `"`) // one for all: it is not changed
	var work sync.WaitGroup
	work.Go(p.writeLines) // ends with the pipe
	var sending sync.WaitGroup
	for i := range calls {
		c := &pipeCall{id: json.RawMessage(fmt.Sprint(i))}
		data := p.counted(c, answer[:size:size])
		sending.Go(func() { // ends when the answer is queued
			if i%2 == 0 {
				_ = p.queue(context.Background(), data)
				return
			}
			_ = p.collect(context.Background(), &batch{left: 1}, data)
		})
	}
	p.mu.Lock()
	if p.unread > maxUnread+calls*1000 {
		t.Errorf("%d bytes are unread", p.unread)
	}
	p.mu.Unlock()
	call := message{method: "ping", id: json.RawMessage("1")}
	if _, refused := p.decode(call, nil); refused == nil || !strings.Contains(refused.message, "wait to be read") {
		t.Errorf("a further call: %v", refused)
	}
	close(out.open)
	sending.Wait()
	p.Close()
	work.Wait()
	if out.large < maxUnread/size-1 || out.large > maxUnread/size || len(out.other) != calls-out.large || !strings.Contains(out.other[0], "was dropped") {
		t.Errorf("%d answers, %d errors, such as %.300q", out.large, len(out.other), out.other[:min(1, len(out.other))])
	}
	if p.unread != 0 {
		t.Errorf("%d bytes are unread after all was written", p.unread)
	}
}
