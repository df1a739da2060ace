package host

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/schema"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// ask puts a question of the tool to the caller. The goroutine ends with the caller's function, which is
// told by ctx when the call is over; nothing waits for it, since a caller's function that ignores that must
// not keep the host open (K1).
func (a *attempt) ask(ctx context.Context, q *pb.Question) {
	answer := func(ans *pb.Answer) {
		ans.Id = q.GetId()
		_ = a.call.Send(ctx, &pb.Frame{Body: &pb.Frame_Answer{Answer: ans}}) // fails only when the call is over
	}
	elicit := a.run.call.Elicit
	if elicit == nil {
		answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_DECLINE})
		return
	}
	go func() {
		resume := a.run.pause()
		got, err := guardElicit(ctx, elicit, Question{q.GetMessage(), q.GetSchema()})
		resume()
		if err == nil && got.Action == "accept" {
			err = checkAnswer(q.GetSchema(), got.Content)
		}
		if err != nil {
			a.run.host.log.Warn("a question was not answered", "tool", a.run.call.Tool, "call", a.run.call.ID, "error", err)
		}
		switch {
		case err != nil || got.Action == "cancel":
			answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_CANCEL})
		case got.Action == "accept":
			answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_ACCEPT, Content: got.Content})
		default:
			answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_DECLINE})
		}
	}()
}

// guardElicit makes a panic of the caller's function an error (H6).
func guardElicit(ctx context.Context, elicit func(context.Context, Question) (Answer, error), q Question) (a Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return elicit(ctx, q)
}

// checkAnswer holds the content of an answer against the question's schema.
func checkAnswer(text, content []byte) error {
	s, err := schema.Compile(text)
	if err != nil {
		return fmt.Errorf("the question's schema: %w", err)
	}
	if content == nil {
		content = []byte("null")
	}
	doc, err := schema.Parse(content, schema.Limits{})
	if err == nil {
		err = s.Validate(doc)
	}
	return err
}
