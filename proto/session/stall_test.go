package session

import (
	"context"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// M5: with one flow stalled, every other one goes on.
func TestM5_StalledFlows(t *testing.T) {
	limits := Limits{Window: 1000}
	stalls := map[string]func(t *testing.T, e ends, c, p *Call) <-chan error{
		"nothing": func(*testing.T, ends, *Call, *Call) <-chan error { return nil },
		"deltas": func(t *testing.T, _ ends, c, _ *Call) <-chan error {
			return stall(t, c, &pb.InputDelta{Data: fill(1, 1<<20)})
		},
		"writes": func(t *testing.T, _ ends, _, p *Call) <-chan error {
			return stall(t, p, &pb.Write{Data: []byte("0123456789")})
		},
		"spans": func(t *testing.T, _ ends, _, p *Call) <-chan error {
			return stall(t, p, &pb.Span{Name: "0123456789"})
		},
		"views of deltas": func(t *testing.T, e ends, c, p *Call) <-chan error {
			for range 100 {
				mustSend(t, c, &pb.InputDelta{Data: []byte("1")})
				mustRecv(t, p, kInputDelta)
			}
			return stall(t, p, &pb.DeltaView{Audience: display, Text: []byte("0123456789")})
		},
		"results": func(t *testing.T, e ends, _, p *Call) <-chan error {
			mustSend(t, p, &pb.Failed{Message: string(fill(1, 1<<20))})
			return nil
		},
		"logs": func(t *testing.T, e ends, _, _ *Call) <-chan error {
			for range 5000 {
				e.plugin.Log(0, &pb.Log{Message: "flood"})
			}
			return nil
		},
	}
	for name, begin := range stalls {
		t.Run(name, func(t *testing.T) {
			open, calls := accepting()
			logged := make(chan struct{}, 1)
			onLog := func(_ uint64, rec *pb.Log) {
				if rec.GetMessage() == "mark" {
					logged <- struct{}{}
				}
			}
			e := connect(t, Config{Limits: limits, OnLog: onLog}, Config{Limits: limits}, open)
			c := mustOpen(t, e.host, &pb.Open{Streaming: true, Views: bothViews()})
			p := <-calls
			blocked := begin(t, e, c, p)
			otherFlows(t, e, calls, logged)
			c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
			await(t, p.Context().Done(), "the cancel of the stalled call")
			if blocked != nil {
				<-blocked
			}
			p.Close()
			settle(t, e)
			if n := e.host.Active(); n != 0 {
				t.Errorf("%d calls are active", n)
			}
		})
	}
}

// stall sends body on c again and again until it waits; the result comes when it fails.
func stall(t *testing.T, c *Call, body any) <-chan error {
	done := make(chan error, 1)
	go func() { // ends with the call
		for {
			if err := c.Send(context.Background(), frameOf(0, body)); err != nil {
				done <- err
				return
			}
		}
	}()
	waitBlocked(t, c, nil)
	return done
}

// otherFlows sees a ping, a delta, an input, a log record, a write and a result through.
func otherFlows(t *testing.T, e ends, calls chan *Call, logged <-chan struct{}) {
	t.Helper()
	if err := e.host.Ping(within(t)); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, e.host, &pb.Open{Streaming: true})
	p := <-calls
	mustSend(t, c, &pb.InputDelta{Data: []byte("{}")}, &pb.Input{Input: []byte("{}"), Run: true})
	mustRecv(t, p, kInputDelta)
	mustRecv(t, p, kInput)
	for e.plugin.Log(p.ID(), &pb.Log{Message: "mark"}) == 0 { // the queue is full
		if err := e.plugin.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	mustSend(t, p, &pb.Write{Data: []byte("1")}, &pb.Output{Closed: true})
	mustRecv(t, c, kWrite)
	mustRecv(t, c, kOutput)
	await(t, logged, "the log record")
}
