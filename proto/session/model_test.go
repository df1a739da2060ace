package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// The model: what one end has sent on a call and the other has received is one text, in which
// deltas are themselves and other frames are tokens. Whatever happens, the received text is a beginning of
// the sent one, at most one outcome is in it, and neither end sees a violation. If nobody cancelled or
// died, it is the whole text. And once all is taken, no room for large frames is (Config.Held).
type modelCall struct {
	host, plugin     *Call
	toPlugin, toHost modelFlow
	cancelled        bool // by the host, which receives nothing any more
	closed           bool // by the plugin
	begun            bool // the plugin has received a frame that starts it
}

// modelFlow is one direction of a call.
type modelFlow struct {
	sent, got strings.Builder
	progress  float64
	outcomes  int
}

// model drives both ends with random steps.
type model struct {
	t     *testing.T
	rng   *rand.Rand
	e     ends
	calls []*modelCall
	next  int
	open  chan *Call
}

// done is a context that has ended: with it Send and Recv never wait.
var done = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func TestModel(t *testing.T) {
	seeds := []uint64{uint64(time.Now().UnixNano())}
	for i := range uint64(60) {
		seeds = append(seeds, i)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	open, calls := accepting()
	rng := rand.New(rand.NewPCG(seed, 1))
	limits := Limits{Window: 200 + rng.IntN(5000)}
	m := &model{t: t, rng: rng, open: calls, e: connect(t, Config{Limits: limits, Held: rng.IntN(2) * rng.IntN(400_000)}, Config{Limits: limits}, open)}
	for range 300 {
		m.step()
	}
	if rng.IntN(2) == 0 {
		m.die()
		return
	}
	m.drain()
	for i, c := range m.calls {
		m.checkWhole(i, c)
	}
	for _, s := range []*Session{m.e.host, m.e.plugin} {
		if st := s.Stats(); st.Violations != 0 || st.Unknown != 0 {
			t.Errorf("%+v", st)
		}
	}
	wantFree(t, m.e)
	open1 := 0
	for _, c := range m.calls {
		if !c.closed {
			open1++
		}
	}
	if n := m.e.host.Active(); n != open1 {
		t.Errorf("%d calls are active, want %d", n, open1)
	}
}

func (m *model) step() {
	if len(m.calls) == 0 || m.rng.IntN(12) == 0 {
		m.openCall()
		return
	}
	c := m.calls[m.rng.IntN(len(m.calls))]
	switch m.rng.IntN(20) {
	case 0:
		m.cancel(c)
	case 1:
		if m.rng.IntN(3) == 0 {
			c.plugin.Close()
			c.closed = true
		}
	case 2, 3, 4, 5, 6:
		m.send(c.host, &c.toPlugin, m.hostBody(), c)
	case 7, 8, 9, 10, 11:
		m.send(c.plugin, &c.toHost, m.pluginBody(), c)
	case 12, 13, 14:
		m.recv(c.host, &c.toHost, c)
	case 15, 16, 17:
		m.recv(c.plugin, &c.toPlugin, c)
	case 18:
		m.e.plugin.Log(c.plugin.ID(), &pb.Log{Message: "log"})
	case 19:
		settle(m.t, m.e)
	}
}

func (m *model) openCall() {
	o := &pb.Open{Streaming: m.flip(), Confirm: m.flip()}
	if m.flip() {
		o.Input = m.payload()
		o.Run = m.flip()
	}
	o.Ask = !o.Run && m.rng.IntN(4) == 0
	if m.rng.IntN(3) == 0 {
		o.Views = bothViews()[m.rng.IntN(2):]
	}
	if m.rng.IntN(6) == 0 {
		o.Resume = &pb.Resume{Data: m.payload()}
	}
	c := &modelCall{host: mustOpen(m.t, m.e.host, o)}
	c.plugin = <-m.open
	c.begun = runs(o)
	m.calls = append(m.calls, c)
}

func (m *model) cancel(c *modelCall) {
	if m.flip() {
		return
	}
	c.host.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	c.cancelled = true
	settle(m.t, m.e)
	if !c.closed && c.plugin.Context().Err() == nil {
		m.t.Errorf("call %d: the cancel did not reach the plugin", c.host.ID())
	}
}

// send sends one frame and notes it if the session took it.
func (m *model) send(c *Call, flow *modelFlow, body any, mc *modelCall) {
	f := frameOf(0, body)
	k := kindOf(f)
	token := m.token(f)
	if err := c.Send(done, f); err != nil {
		if k.outcome() && closes(f) && errors.As(err, new(*CancelError)) {
			mc.closed = true
		}
		return
	}
	flow.sent.WriteString(token)
	if k.outcome() && closes(f) {
		mc.closed = true
	}
}

// recv takes one frame if there is one.
func (m *model) recv(c *Call, flow *modelFlow, mc *modelCall) bool {
	f, err := c.Recv(done)
	if err != nil {
		return false
	}
	k := kindOf(f)
	if k == kProgress {
		if v := f.GetProgress().GetProgress(); v <= flow.progress {
			m.t.Errorf("call %d: progress %v after %v", c.ID(), v, flow.progress)
		} else {
			flow.progress = v
		}
	}
	if k.outcome() {
		flow.outcomes++
	}
	if starts(k, &course{}, f) {
		mc.begun = true
	}
	flow.got.WriteString(m.token(f))
	if !strings.HasPrefix(flow.sent.String(), flow.got.String()) || flow.outcomes > 1 {
		m.t.Fatalf("call %d: sent %.200q, received %.200q", c.ID(), flow.sent.String(), flow.got.String())
	}
	if mc.begun && !mc.host.Started() {
		m.t.Errorf("call %d: the plugin has begun, but the host says not started", c.ID())
	}
	return true
}

// token is f in the text of its flow; progress is not in it, since the latest wins.
func (m *model) token(f *pb.Frame) string {
	switch k := kindOf(f); k {
	case kInputDelta:
		return string(f.GetInputDelta().GetData())
	case kProgress:
		return ""
	default:
		return fmt.Sprintf("<%v %d>", k, payload(f))
	}
}

// drain takes everything that is under way.
func (m *model) drain() {
	for more := true; more; {
		settle(m.t, m.e)
		more = false
		for _, c := range m.calls {
			for m.recv(c.host, &c.toHost, c) {
				more = true
			}
			for m.recv(c.plugin, &c.toPlugin, c) {
				more = true
			}
		}
	}
}

// checkWhole checks that a call which nobody has ended lost nothing.
func (m *model) checkWhole(i int, c *modelCall) {
	if c.cancelled {
		return
	}
	if c.toHost.sent.String() != c.toHost.got.String() {
		m.t.Errorf("call %d: sent %q, received %q", i, c.toHost.sent.String(), c.toHost.got.String())
	}
	ended := c.closed || c.toHost.outcomes > 0
	if !ended && c.toPlugin.sent.String() != c.toPlugin.got.String() {
		m.t.Errorf("call %d: sent %q, received %q", i, c.toPlugin.sent.String(), c.toPlugin.got.String())
	}
}

// die ends one session in the middle; what was received stays in order, and then every call says why.
func (m *model) die() {
	victim := m.e.host
	if m.flip() {
		victim = m.e.plugin
	}
	victim.Close()
	<-m.e.host.Done()
	<-m.e.plugin.Done()
	for _, c := range m.calls {
		for m.recv(c.host, &c.toHost, c) {
			continue
		}
		for m.recv(c.plugin, &c.toPlugin, c) {
			continue
		}
		for _, end := range []*Call{c.host, c.plugin} {
			_, err := end.Recv(within(m.t))
			if !errors.Is(err, ErrEnded) && !errors.Is(err, ErrClosed) && !errors.As(err, new(*CancelError)) {
				m.t.Errorf("call %d: %v", end.ID(), err)
			}
		}
		if c.plugin.Context().Err() == nil {
			m.t.Errorf("call %d: the author's context lives", c.host.ID())
		}
	}
}

func (m *model) hostBody() any {
	switch m.rng.IntN(9) {
	case 0, 1, 2:
		m.next++
		return &pb.InputDelta{Data: []byte(fmt.Sprintf("%d%s;", m.next, strings.Repeat("é", m.rng.IntN(300))))}
	case 3:
		return &pb.Input{Input: m.payload(), Run: m.flip()}
	case 4:
		return &pb.Run{}
	case 5:
		return &pb.Resume{Data: m.payload()}
	case 6:
		return &pb.Answer{Content: m.payload()}
	case 7:
		return &pb.Accepted{}
	}
	return &pb.Derive{Output: m.payload()}
}

func (m *model) pluginBody() any {
	m.next++
	switch m.rng.IntN(14) {
	case 0, 1, 2:
		return &pb.Write{Data: m.payload()}
	case 3, 4:
		return &pb.Progress{Progress: float64(m.next)}
	case 5:
		return &pb.Span{Name: fmt.Sprint(m.next)}
	case 6:
		return &pb.Question{Id: uint32(m.next), Message: fmt.Sprint(m.next)}
	case 7:
		return &pb.Asked{Needed: true, Views: []*pb.DerivedView{{Audience: display, Value: m.payload()}}}
	case 8:
		return &pb.Output{Output: m.payload(), Closed: m.flip()}
	case 9:
		return &pb.Failed{Data: m.payload(), Closed: m.flip()}
	case 10:
		return &pb.Suspended{Payload: m.payload(), Closed: m.flip()}
	case 11, 12:
		return &pb.DeltaView{Audience: bothViews()[m.rng.IntN(2)], Text: m.payload()}
	}
	return &pb.Derived{Model: m.payload()}
}

// payload is some bytes; now and then enough for chunks.
func (m *model) payload() []byte {
	n := m.rng.IntN(200)
	if m.rng.IntN(10) == 0 {
		n = 10_000 + m.rng.IntN(100_000)
	}
	return make([]byte, n)
}

func (m *model) flip() bool { return m.rng.IntN(2) == 0 }
