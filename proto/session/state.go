package session

import pb "github.com/toolhost/toolhost/proto/toolplugin/v1"

// state is where a call is; see the table in the package comment.
type state uint8

const (
	stNone     state = iota // in the table: not allowed
	stNew                   // open is under way in chunks
	stOpen                  // no input yet
	stInput                 // deltas have come
	stReady                 // the whole input is there
	stAsked                 // asked was sent
	stRunning               // execute was started
	stOutput                // output was sent
	stDeriving              // derive was sent
	stEnded                 // failed or suspended was sent
	stClosed
	states
)

var stateNames = [states]string{
	"NONE", "NEW", "OPEN", "INPUT", "READY", "ASKED", "RUNNING", "OUTPUT", "DERIVING", "ENDED", "CLOSED",
}

func (s state) String() string { return stateNames[s] }

// moves is the state machine: moves[state][frame] is the state after the frame,
// or stNone if the frame is not allowed. What depends on more than the state is
// in course.check.
var moves = [states][kinds]state{
	stNew: {kOpen: stOpen, kClosed: stClosed},
	stOpen: {
		kInputDelta: stInput, kInput: stReady, kAnswer: stOpen,
		kProgress: stOpen, kWrite: stOpen, kSpan: stOpen, kQuestion: stOpen,
		kFailed: stEnded, kClosed: stClosed,
	},
	stInput: {
		kInputDelta: stInput, kInput: stReady, kAnswer: stInput, kDeltaView: stInput,
		kProgress: stInput, kWrite: stInput, kSpan: stInput, kQuestion: stInput,
		kFailed: stEnded, kClosed: stClosed,
	},
	stReady: {
		kRun: stRunning, kResume: stRunning, kAsked: stAsked, kAnswer: stReady, kDeltaView: stReady,
		kProgress: stReady, kWrite: stReady, kSpan: stReady, kQuestion: stReady,
		kFailed: stEnded, kClosed: stClosed,
	},
	stAsked: {
		kRun: stRunning, kAnswer: stAsked,
		kProgress: stAsked, kWrite: stAsked, kSpan: stAsked, kQuestion: stAsked,
		kFailed: stEnded, kClosed: stClosed,
	},
	stRunning: {
		kAnswer: stRunning, kDeltaView: stRunning,
		kProgress: stRunning, kWrite: stRunning, kSpan: stRunning, kQuestion: stRunning,
		kOutput: stOutput, kFailed: stEnded, kSuspended: stEnded, kClosed: stClosed,
	},
	stOutput:   {kAccepted: stOutput, kDerive: stDeriving, kSpan: stOutput, kClosed: stClosed},
	stDeriving: {kDerived: stOutput, kSpan: stDeriving, kClosed: stClosed},
	stEnded:    {kSpan: stEnded, kClosed: stClosed},
}

// audiences is one more than the highest Audience.
const audiences = 3

// course is what a call's frames have said so far. Both ends keep one, and move it for the
// frames that they send and for those that they receive.
type course struct {
	state     state
	streaming bool // open said so
	ask       bool
	awaits    bool // asked comes before run
	confirm   bool
	resume    bool            // the input starts a resumption
	views     [audiences]bool // that open asked for
	unseen    [audiences]int  // input_deltas without a delta_view, by audience
	accepted  bool            // accepted was sent
	derived   bool            // derive was sent
	questions int             // questions without an answer
}

// check returns the state after f, or a reason why f is not allowed.
func (p *course) check(k kind, f *pb.Frame) (state, string) {
	next := moves[p.state][k]
	if next == stNone {
		return stNone, "not allowed"
	}
	switch k {
	case kOpen:
		return checkOpen(f.GetOpen())
	case kInputDelta:
		if !p.streaming {
			return stNone, "open did not announce deltas"
		}
	case kInput:
		run := f.GetInput().GetRun() || p.resume
		if run && p.ask {
			return stNone, "NeedsApproval was not asked"
		}
		if run {
			return stRunning, ""
		}
	case kRun, kResume:
		if p.awaits && p.state != stAsked {
			return stNone, "asked has not come"
		}
	case kAsked:
		if !p.awaits {
			return stNone, "open wanted neither ask nor views"
		}
	case kDeltaView:
		if a := f.GetDeltaView().GetAudience(); a < 0 || a >= audiences || p.unseen[a] == 0 {
			return stNone, "no input_delta waits for it"
		}
	case kQuestion:
		if p.questions >= maxQuestions {
			return stNone, "too many questions without an answer"
		}
	case kAnswer:
		if p.questions == 0 {
			return stNone, "no question waits"
		}
	case kAccepted, kDerive:
		if !p.confirm || k == kAccepted && p.accepted || k == kDerive && p.derived {
			return stNone, "not announced by confirm, or a second one"
		}
	}
	if k.outcome() && closes(f) {
		return stClosed, ""
	}
	return next, ""
}

// apply moves to next, which check returned for f.
func (p *course) apply(k kind, f *pb.Frame, next state) {
	p.state = next
	switch k {
	case kOpen:
		o := f.GetOpen()
		p.streaming, p.ask, p.confirm = o.GetStreaming(), o.GetAsk(), o.GetConfirm()
		p.awaits, p.resume = awaits(o), o.GetResume() != nil && !awaits(o)
		for _, a := range o.GetViews() {
			if a > 0 && a < audiences {
				p.views[a] = true
			}
		}
	case kInputDelta:
		for a, want := range p.views {
			if want {
				p.unseen[a]++
			}
		}
	case kDeltaView:
		p.unseen[f.GetDeltaView().GetAudience()]--
	case kQuestion:
		p.questions++
	case kAnswer:
		p.questions--
	case kAccepted:
		p.accepted = true
	case kDerive:
		p.derived = true
	}
}

// late reports whether a frame of kind k may have crossed the outcome: the host sent it before
// it knew.
func (p *course) late(k kind) bool {
	switch k {
	case kInputDelta, kInput, kRun, kResume, kAnswer:
		return p.state >= stOutput
	}
	return false
}

func checkOpen(o *pb.Open) (state, string) {
	run := runs(o)
	switch {
	case run && o.GetAsk():
		return stNone, "run and ask at once"
	case o.GetRun(), run && o.Input != nil:
		return stRunning, ""
	case o.Input != nil:
		return stReady, ""
	}
	return stOpen, ""
}

// awaits reports whether the plugin sends asked before run, unless open or input starts the call.
func awaits(o *pb.Open) bool { return o.GetAsk() || len(o.GetViews()) > 0 }

// runs reports whether the call starts as soon as its input is there.
func runs(o *pb.Open) bool { return o.GetRun() || o.GetResume() != nil && !awaits(o) }

// starts reports whether f lets the plugin execute.
func starts(k kind, p *course, f *pb.Frame) bool {
	switch k {
	case kOpen:
		return runs(f.GetOpen())
	case kInput:
		return f.GetInput().GetRun() || p.resume
	}
	return k == kRun || k == kResume
}

// closes reports whether an outcome frees the call's id.
func closes(f *pb.Frame) bool {
	switch b := f.GetBody().(type) {
	case *pb.Frame_Output:
		return b.Output.GetClosed()
	case *pb.Frame_Failed:
		return b.Failed.GetClosed()
	case *pb.Frame_Suspended:
		return b.Suspended.GetClosed()
	}
	return false
}
