//go:build linux

package main

import (
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// sessions are the ways to end a session, or to leave it alone.
func sessions() []fault {
	return []fault{
		wired("session-unread", "reads the greeting of its session and nothing after it", raw{session: func(l *link, f *pb.Frame) bool {
			l.receive(f)
			<-l.stream.Context().Done()
			return false
		}}),
		wired("session-closed", "closes its session when it is called", raw{session: func(_ *link, f *pb.Frame) bool { return f.GetOpen() == nil }}),
		wired("socket-closed", "closes its connection when it is called", raw{call: func(l *link, _ *pb.Frame) { l.server.conn.Close() }}),
	}
}
