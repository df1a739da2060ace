package session

import (
	"strings"
	"unicode/utf8"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

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
