package session

import (
	"math"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// Limits are the sizes that both ends keep to. For each, the smaller of both
// ends' values holds.
type Limits struct {
	// Message is the bytes of one whole frame. If zero, wire.MaxMessage.
	Message int
	// Window is the credit of one call and direction in bytes. If zero,
	// wire.Window.
	Window int
	// Log is the bytes of one log record. If zero, wire.MaxLog.
	Log int
}

// MaxBatch is the most that this package puts into one message of the stream, in
// bytes: a transport's own limit need not be larger (M2).
const MaxBatch = 128 << 10

const (
	batchSize    = 64 << 10           // a batch takes no more lanes after this many bytes
	turnSize     = 4 << 10            // bytes of small frames that a lane may send in its turn
	batchChunks  = 2                  // chunks of one call in a batch
	frameRoom    = 64                 // bytes of a batch for what is around the data of a chunk
	chunkAt      = wire.ChunkSize     // larger frames are cut
	smallFrame   = wire.MaxDelta + 64 // frames that are not bulk
	frameCost    = 32                 // credit that a frame costs beside its payload
	callField    = 1 + 10             // bytes of Frame.call at most
	maxQuestions = 16                 // questions of one call without an answer
	maxQuestion  = 4 << 20            // bytes of one question: 64 MiB at most wait in a call
	maxCancel    = 4 << 10            // bytes of a cancel's message
	maxReplies   = 1024               // frames that wait because the peer asked for them
	maxUnclosed  = 10_000             // calls that are over here and that the plugin has not closed
	maxViews     = 64                 // views in one frame
	maxParts     = 1000               // messages and elements of lists in one frame that came in chunks; see rpc.Parts
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Message: orDefault(l.Message, wire.MaxMessage),
		Window:  orDefault(l.Window, wire.Window),
		Log:     orDefault(l.Log, wire.MaxLog),
	}
}

// smaller returns what holds beside a peer with limits p.
func (l Limits) smaller(p *pb.Limits) Limits {
	theirs := Limits{
		Message: fromWire(p.GetMessage()), Window: fromWire(p.GetWindow()), Log: fromWire(p.GetLog()),
	}.withDefaults()
	return Limits{
		Message: min(l.Message, theirs.Message), Window: min(l.Window, theirs.Window), Log: min(l.Log, theirs.Log),
	}
}

func (l Limits) toWire() *pb.Limits {
	return &pb.Limits{Message: uint64(l.Message), Window: uint64(l.Window), Log: uint64(l.Log)}
}

// cost is the credit that a payload of n bytes takes. It is at most half a
// window, so that any frame can go as soon as the receiver has taken everything
// before it, although the receiver keeps up to half a window back.
func (l Limits) cost(n int) int { return min(n+frameCost, max(1, l.Window/2)) }

// giveBack is how much credit a receiver lets gather before it returns it.
func (l Limits) giveBack() int { return (l.Window + 1) / 2 }

// of is the limit of a frame of kind k.
func (l Limits) of(k kind) int {
	switch {
	case kindTable[k].bulk:
		return l.Message
	case k == kQuestion:
		return min(l.Message, maxQuestion)
	}
	return min(l.Message, smallFrame)
}

func orDefault(v, def int) int {
	if v <= 0 {
		return def
	}
	return v
}

func fromWire(v uint64) int { return int(min(v, math.MaxInt32)) }

// payload is about the size of what f carries: exact for frames that cost
// credit, and never more than the encoded size.
func payload(f *pb.Frame) int {
	switch b := f.GetBody().(type) {
	case *pb.Frame_InputDelta:
		return len(b.InputDelta.GetData())
	case *pb.Frame_Write:
		return len(b.Write.GetData())
	case *pb.Frame_DeltaView:
		return len(b.DeltaView.GetText())
	case *pb.Frame_Span:
		return len(b.Span.GetName()) + len(b.Span.GetAttributes()) + len(b.Span.GetError())
	case *pb.Frame_Open:
		o := b.Open
		return len(o.GetTool()) + len(o.GetCallId()) + len(o.GetInput()) + len(o.GetContext()) + len(o.GetMessages())
	case *pb.Frame_Input:
		return len(b.Input.GetInput())
	case *pb.Frame_Output:
		return len(b.Output.GetOutput()) + derivedSize(b.Output.GetDerived())
	case *pb.Frame_Failed:
		return len(b.Failed.GetMessage()) + len(b.Failed.GetData()) + viewsSize(b.Failed.GetViews())
	case *pb.Frame_Suspended:
		return len(b.Suspended.GetPayload()) + viewsSize(b.Suspended.GetViews())
	case *pb.Frame_Resume:
		return len(b.Resume.GetData()) + len(b.Resume.GetPayload())
	case *pb.Frame_Answer:
		return len(b.Answer.GetContent())
	case *pb.Frame_Derive:
		return len(b.Derive.GetOutput())
	case *pb.Frame_Derived:
		return derivedSize(b.Derived)
	case *pb.Frame_Progress:
		return len(b.Progress.GetMessage())
	case *pb.Frame_Question:
		return len(b.Question.GetMessage()) + len(b.Question.GetSchema()) + len(b.Question.GetParams())
	case *pb.Frame_Asked:
		return len(b.Asked.GetError()) + viewsSize(b.Asked.GetViews())
	}
	return 0
}

// viewsOf are the views that f carries.
func viewsOf(f *pb.Frame) []*pb.DerivedView {
	switch b := f.GetBody().(type) {
	case *pb.Frame_Output:
		return b.Output.GetDerived().GetViews()
	case *pb.Frame_Failed:
		return b.Failed.GetViews()
	case *pb.Frame_Suspended:
		return b.Suspended.GetViews()
	case *pb.Frame_Derived:
		return b.Derived.GetViews()
	case *pb.Frame_Asked:
		return b.Asked.GetViews()
	}
	return nil
}

func derivedSize(d *pb.Derived) int { return len(d.GetModel()) + viewsSize(d.GetViews()) }

func viewsSize(views []*pb.DerivedView) (n int) {
	for _, v := range views {
		n += len(v.GetValue()) + len(v.GetError())
	}
	return n
}
