package session

import (
	"strings"
	"unicode/utf8"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

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

// clean makes every text of f valid UTF-8. protobuf refuses to encode anything else, and one
// call's broken text must not end the session. Broken bytes become U+FFFD.
func clean(f *pb.Frame) {
	switch b := f.GetBody().(type) {
	case *pb.Frame_Open:
		cleanText(&b.Open.Tool, &b.Open.CallId, &b.Open.Traceparent, &b.Open.Tracestate)
	case *pb.Frame_Progress:
		cleanText(&b.Progress.Message)
	case *pb.Frame_Span:
		cleanText(&b.Span.Name, &b.Span.Error)
	case *pb.Frame_Asked:
		cleanText(&b.Asked.Error)
		cleanViews(b.Asked.GetViews())
	case *pb.Frame_Question:
		cleanText(&b.Question.Message)
	case *pb.Frame_Log:
		cleanText(&b.Log.Message)
	case *pb.Frame_Cancel:
		cleanText(&b.Cancel.Message)
	case *pb.Frame_Output:
		cleanDerived(b.Output.GetDerived())
	case *pb.Frame_Derived:
		cleanDerived(b.Derived)
	case *pb.Frame_Failed:
		cleanText(&b.Failed.Message)
		cleanViews(b.Failed.GetViews())
	case *pb.Frame_Suspended:
		cleanViews(b.Suspended.GetViews())
	case *pb.Frame_Hello:
		cleanTexts(b.Hello.GetFeatures())
	case *pb.Frame_Welcome:
		cleanText(&b.Welcome.Sdk, &b.Welcome.Refusal)
		cleanTexts(b.Welcome.GetFeatures())
	}
}

func cleanDerived(d *pb.Derived) {
	if d != nil {
		cleanText(&d.ModelError)
		cleanViews(d.GetViews())
	}
}

func cleanViews(views []*pb.DerivedView) {
	for _, v := range views {
		if v != nil {
			cleanText(&v.Error)
		}
	}
}

func cleanTexts(texts []string) {
	for i := range texts {
		cleanText(&texts[i])
	}
}

func cleanText(texts ...*string) {
	for _, t := range texts {
		if !utf8.ValidString(*t) {
			*t = strings.ToValidUTF8(*t, "\uFFFD")
		}
	}
}
