package session

import pb "github.com/toolhost/toolhost/proto/toolplugin/v1"

// kind is the type of a frame's body.
type kind uint8

const (
	kUnknown kind = iota
	kOpen
	kInputDelta
	kInput
	kRun
	kResume
	kAnswer
	kAccepted
	kDerive
	kAsked
	kProgress
	kWrite
	kDeltaView
	kSpan
	kQuestion
	kSuspended
	kOutput
	kFailed
	kDerived
	kClosed
	kCancel
	kChunk
	kWindow
	kLog
	kHello
	kWelcome
	kPing
	kPong
	kDrain
	kToolsChanged
	kinds
)

// sender says who may send a kind, and whether it belongs to a call.
type sender uint8

const (
	hostCall sender = iota + 1
	pluginCall
	hostConn
	pluginConn
	either // framing: each is checked where it is handled
)

var kindTable = [kinds]struct {
	name string
	from sender
	bulk bool // limited by Limits.Message rather than by smallFrame or maxQuestion
}{
	kUnknown:      {name: "unknown"},
	kOpen:         {"open", hostCall, true},
	kInputDelta:   {"input_delta", hostCall, false},
	kInput:        {"input", hostCall, true},
	kRun:          {"run", hostCall, false},
	kResume:       {"resume", hostCall, true},
	kAnswer:       {"answer", hostCall, true},
	kAccepted:     {"accepted", hostCall, false},
	kDerive:       {"derive", hostCall, true},
	kAsked:        {"asked", pluginCall, true},
	kProgress:     {"progress", pluginCall, false},
	kWrite:        {"write", pluginCall, true},
	kDeltaView:    {"delta_view", pluginCall, true},
	kSpan:         {"span", pluginCall, false},
	kQuestion:     {"question", pluginCall, false},
	kSuspended:    {"suspended", pluginCall, true},
	kOutput:       {"output", pluginCall, true},
	kFailed:       {"failed", pluginCall, true},
	kDerived:      {"derived", pluginCall, true},
	kClosed:       {"closed", pluginCall, false},
	kCancel:       {"cancel", either, false},
	kChunk:        {"chunk", either, false},
	kWindow:       {"window", either, false},
	kLog:          {"log", either, true},
	kHello:        {"hello", hostConn, true},
	kWelcome:      {"welcome", pluginConn, true},
	kPing:         {"ping", either, false},
	kPong:         {"pong", either, false},
	kDrain:        {"drain", hostConn, false},
	kToolsChanged: {"tools_changed", pluginConn, false},
}

func (k kind) String() string { return kindTable[k].name }

func (k kind) outcome() bool { return k == kOutput || k == kFailed || k == kSuspended }

func (k kind) credited() bool {
	return k == kInputDelta || k == kWrite || k == kDeltaView || k == kSpan
}

func kindOf(f *pb.Frame) kind {
	switch f.GetBody().(type) {
	case *pb.Frame_Open:
		return kOpen
	case *pb.Frame_InputDelta:
		return kInputDelta
	case *pb.Frame_Input:
		return kInput
	case *pb.Frame_Run:
		return kRun
	case *pb.Frame_Output:
		return kOutput
	case *pb.Frame_Failed:
		return kFailed
	case *pb.Frame_Closed:
		return kClosed
	case *pb.Frame_Chunk:
		return kChunk
	case *pb.Frame_Window:
		return kWindow
	case *pb.Frame_Cancel:
		return kCancel
	case *pb.Frame_Log:
		return kLog
	case *pb.Frame_Progress:
		return kProgress
	case *pb.Frame_Write:
		return kWrite
	case *pb.Frame_DeltaView:
		return kDeltaView
	case *pb.Frame_Span:
		return kSpan
	}
	return rareKindOf(f)
}

func rareKindOf(f *pb.Frame) kind {
	switch f.GetBody().(type) {
	case *pb.Frame_Hello:
		return kHello
	case *pb.Frame_Welcome:
		return kWelcome
	case *pb.Frame_Ping:
		return kPing
	case *pb.Frame_Pong:
		return kPong
	case *pb.Frame_Drain:
		return kDrain
	case *pb.Frame_ToolsChanged:
		return kToolsChanged
	case *pb.Frame_Resume:
		return kResume
	case *pb.Frame_Asked:
		return kAsked
	case *pb.Frame_Question:
		return kQuestion
	case *pb.Frame_Answer:
		return kAnswer
	case *pb.Frame_Suspended:
		return kSuspended
	case *pb.Frame_Accepted:
		return kAccepted
	case *pb.Frame_Derive:
		return kDerive
	case *pb.Frame_Derived:
		return kDerived
	}
	return kUnknown
}
