package session

import (
	"errors"
	"testing"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// H3: a plugin that asks, is answered at once and reads nothing makes the host keep no more answers than questions may wait.
func TestH3_AnswersThatAreNotTaken(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	release := r.hold(s)
	defer release()
	c := mustOpen(t, s, &pb.Open{Run: true, Answers: true})
	answered := make(chan int)
	go func() { // ends with the call
		n := 0
		for {
			f, err := c.Recv(within(t))
			if err != nil {
				answered <- n
				return
			}
			if f.GetQuestion() != nil {
				n++
				_ = c.Send(within(t), frameOf(0, &pb.Answer{Id: f.GetQuestion().GetId()})) // the call may have failed by now
			}
		}
	}()
	const asked = 1000
	for i := range asked {
		r.send(frameOf(c.ID(), &pb.Question{Id: uint32(i + 1)}))
	}
	r.send(frameOf(c.ID(), &pb.Failed{Message: "enough", Closed: true}))
	if n := <-answered; n != maxQuestions {
		t.Errorf("%d answers wait, want %d", n, maxQuestions)
	}
	if st := s.Stats(); st.Violations != asked-maxQuestions {
		t.Errorf("%+v", st)
	}
}

// Who takes the answers may ask again and again.
func TestQuestionsOneAfterTheOther(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Run: true, Answers: true})
	r.expect(kOpen)
	for i := range uint32(20) {
		for range maxQuestions {
			r.send(frameOf(c.ID(), &pb.Question{Id: i}))
		}
		for range maxQuestions {
			mustSend(t, c, &pb.Answer{Id: mustRecv(t, c, kQuestion).GetQuestion().GetId()})
		}
		for range maxQuestions {
			r.expect(kAnswer)
		}
	}
	if st := s.Stats(); st.Violations != 0 {
		t.Errorf("%+v", st)
	}
}

// H3: of calls that are over and that the plugin never closes, no more than maxUnclosed are kept.
func TestH3_CallsThatAreNeverClosed(t *testing.T) {
	ends := map[string]func(*testing.T, *raw, *Call){
		"cancelled": func(_ *testing.T, _ *raw, c *Call) { c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "") },
		"failed": func(t *testing.T, r *raw, c *Call) {
			r.send(frameOf(c.ID(), &pb.Failed{Message: "no"}))
			mustRecv(t, c, kFailed)
			c.Close()
		},
		"accepted": func(t *testing.T, r *raw, c *Call) {
			r.send(frameOf(c.ID(), &pb.Output{}))
			mustRecv(t, c, kOutput)
			mustSend(t, c, &pb.Accepted{Final: true})
			c.Close()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s, r := rawPlugin(t, Config{})
			const calls = maxUnclosed + 1000
			for range calls {
				c := mustOpen(t, s, &pb.Open{Run: true, Confirm: name == "accepted"})
				for r.next().GetOpen() == nil { // a cancel or accepted of the one before
				}
				end(t, r, c)
				if n := s.Active(); n > maxUnclosed {
					t.Fatalf("%d calls are kept", n)
				}
			}
			for id := range uint64(calls) {
				r.send(frameOf(id+1, &pb.Closed{}))
			}
			r.sync()
			if s.Active() != 0 || s.unclosed != 0 {
				t.Errorf("%d calls are active, %d unclosed", s.Active(), s.unclosed)
			}
			if err := s.Settle(within(t)); err != nil {
				t.Error(err)
			}
			if st := s.Stats(); st.Violations != 0 || name != "cancelled" && st.Stray != 1000 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// A plugin that talks and takes nothing shows no more life than one that is silent.
func TestC10_WhoTakesNothingShowsNoLife(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	release := r.hold(s)
	defer release()
	held := time.Now()
	for range 3 {
		time.Sleep(time.Millisecond) // so that the times differ
		n := s.Stats().BatchesIn
		r.send(frameOf(0, &pb.Log{Message: "I live"}))
		for s.Stats().BatchesIn == n {
			time.Sleep(time.Millisecond) // nothing else tells
		}
	}
	if at := s.LastSign(); at.After(held) {
		t.Errorf("it showed life %v after it began to wait", at.Sub(held))
	}
	release()
	r.sync()
	if at := s.LastSign(); !at.After(held) {
		t.Errorf("it showed no life %v before it took something", held.Sub(at))
	}
}

// deafStream cannot be sent to.
type deafStream struct{ *memStream }

func (deafStream) Send([]*pb.Frame) error { return errors.New("broken") }

// One to which nothing can be sent any more shows no more life either.
func TestC10_WhoCannotBeReachedShowsNoLife(t *testing.T) {
	a, b := memPair()
	s := New(deafStream{a}, Config{Side: Host})
	t.Cleanup(func() { s.Close(); s.Wait() })
	if err := s.sendHello(&pb.Hello{}); err != nil {
		t.Fatal(err)
	}
	for s.sending.Load() == 0 {
		time.Sleep(time.Millisecond) // nothing else tells
	}
	r := &raw{t: t, st: b, far: a}
	r.send(frameOf(0, &pb.Log{Message: "I live"}))
	for s.Stats().BatchesIn == 0 {
		time.Sleep(time.Millisecond) // nothing else tells
	}
	if at := s.LastSign(); !at.Before(s.lastTime) {
		t.Errorf("it showed life at %v", at)
	}
}
