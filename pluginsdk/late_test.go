package pluginsdk

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestRefuse: a tool that the plugin itself refuses is listed with its reason, and costs no sibling.
func TestRefuse(t *testing.T) {
	ok := func(context.Context, *Call, nothing) (any, error) { return 1, nil }
	cc := serveConn(t, static([]Definition{Refuse("far", errors.New("its schema is null")), newTool("near", ok), Refuse("", nil)}))
	m := describeOn(t, cc, "")
	if len(m.GetTools()) != 1 || m.GetTools()[0].GetId() != "near" {
		t.Errorf("tools = %v", m.GetTools())
	}
	bad := m.GetBadTools()
	if len(bad) != 2 || bad[0].GetId() != "far" || bad[0].GetError() != "its schema is null" || bad[1].GetError() != "refused" {
		t.Errorf("bad tools = %v", bad)
	}
}

// TestR32_DeadlineOfTheFirstList: who does not know the tools waits for them until a time that build is told; who does
// know them tells none.
func TestR32_DeadlineOfTheFirstList(t *testing.T) {
	type deadline struct {
		t  time.Time
		ok bool
	}
	seen := make(chan deadline, 2)
	build := func(_ context.Context, r *Registry) error {
		at, ok := r.Deadline()
		seen <- deadline{at, ok}
		return r.Set()
	}
	begun := time.Now()
	describeOn(t, serveConn(t, build), "")
	if d := <-seen; !d.ok || d.t.Before(begun) || d.t.After(time.Now().Add(testTimeout)) {
		t.Errorf("described: %v", d)
	}
	connect(t, serveConn(t, build), "")
	if d := <-seen; d.ok {
		t.Errorf("greeted: %v", d)
	}
}

// TestR30_EndWaitsForGo: what a plugin gives back when it ends is given back before its process does.
func TestR30_EndWaitsForGo(t *testing.T) {
	var gaveBack atomic.Bool
	s := newServer(func(ctx context.Context, r *Registry) error {
		r.Go(func() {
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond) // longer than an end that does not wait
			gaveBack.Store(true)
		})
		return r.Set()
	})
	if _, err := s.registry(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if left := s.shutdown(testTimeout); left != 0 || !gaveBack.Load() {
		t.Errorf("%d left, gave back: %t", left, gaveBack.Load())
	}
}
