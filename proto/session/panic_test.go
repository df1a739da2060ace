package session

import (
	"errors"
	"strings"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// H6: a panic of a goroutine of the session, or of what it calls, is the session's end and nobody else's.
func TestH6_APanicEndsTheSession(t *testing.T) {
	boom := func() { panic("boom") }
	for name, cfg := range map[string]Config{
		"log":   {OnLog: func(uint64, *pb.Log) { boom() }},
		"tools": {OnToolsChanged: boom},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := rawPlugin(t, cfg)
			c := mustOpen(t, s, &pb.Open{Run: true})
			if name == "log" {
				r.send(&pb.Frame{Call: c.ID(), Body: &pb.Frame_Log{Log: &pb.Log{Seq: 1, Message: "x"}}})
			} else {
				r.send(&pb.Frame{Body: &pb.Frame_ToolsChanged{ToolsChanged: &pb.ToolsChanged{}}})
			}
			await(t, s.Done(), "the end")
			if _, err := c.Recv(within(t)); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "panic in the session's reader: boom") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("writer", func(t *testing.T) {
		a, b := memPair()
		t.Cleanup(func() { b.Close() })
		s := New(&brokenStream{a}, Config{Side: Host})
		_, err := s.Hello(within(t), &pb.Hello{})
		if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "panic in the session's writer: boom") {
			t.Errorf("got %v", err)
		}
		s.Close()
		s.Wait()
	})
}

// brokenStream panics at a send.
type brokenStream struct{ *memStream }

func (b *brokenStream) Send([]*pb.Frame) error { panic("boom") }
