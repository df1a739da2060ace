//go:build linux

package main

import (
	"bytes"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// answers are the answers that no SDK would send.
func answers() []fault {
	reply := func(text string) raw {
		return raw{call: func(l *link, f *pb.Frame) { l.output(f.GetCall(), text, true) }}
	}
	return []fault{
		wired("answer-utf8", "answers with bytes that are not UTF-8", reply("{\"did\":\"evil \xff\xfe\"}")),
		wired("answer-json", "answers with half a JSON document", reply(`{"did":"evil`)),
		wired("answer-schema", "answers otherwise than its own output schema says", reply(`{"undone":1}`)),
		wired("answer-1gib", "answers with 1 GiB", raw{call: answerHuge}),
		wired("answer-twice", "answers every call twice", raw{call: func(l *link, f *pb.Frame) {
			l.output(f.GetCall(), `{"did":"first"}`, false)
			l.output(f.GetCall(), `{"did":"second"}`, true)
			l.output(f.GetCall(), `{"did":"third"}`, true)
		}}),
		wired("answer-other", "answers other calls in place of its own", raw{call: func(l *link, f *pb.Frame) {
			for _, id := range []uint64{f.GetCall() - 1, f.GetCall() + 1, 1 << 40} {
				l.output(id, `{"did":"evil"}`, true)
			}
		}}),
		wired("answer-never", "takes calls and never answers one", raw{call: func(*link, *pb.Frame) {}}),
	}
}

// answerHuge announces 1 GiB and sends 64 MiB of it.
func answerHuge(l *link, f *pb.Frame) {
	const size = 1 << 30
	piece := bytes.Repeat([]byte{'e'}, 16<<10)
	for sent := 0; sent < size/16; sent += len(piece) {
		c := &pb.Chunk{Data: piece}
		if sent == 0 {
			c.Size = size
		}
		if l.stream.Send(&pb.SessionResponse{Frames: []*pb.Frame{{Call: f.GetCall(), Body: &pb.Frame_Chunk{Chunk: c}}}}) != nil {
			return
		}
	}
}
