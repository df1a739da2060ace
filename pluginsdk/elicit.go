package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Question is asked of the caller while the tool runs.
type Question struct {
	// Message is what to ask.
	Message string
	// Schema is the JSON Schema of the answer's content; nil asks for a yes only.
	Schema json.RawMessage
}

// Answer is what the caller did with a question.
type Answer struct {
	// Action is "accept", "decline" or "cancel".
	Action string
	// Content is the JSON content of an accepted question.
	Content json.RawMessage
}

// Accepted reports whether the question was answered.
func (a Answer) Accepted() bool { return a.Action == "accept" }

// Decode decodes the content into v, a pointer.
func (a Answer) Decode(v any) error {
	if err := decode(a.Content, v); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// Elicit asks the caller a question and waits for the answer. A caller that
// answers no questions declines at once. The questions of one call are asked one
// after the other. It may be called by Execute only.
func (c *Call) Elicit(ctx context.Context, q Question) (Answer, error) {
	if !c.open.GetAnswers() {
		return Answer{Action: "decline"}, nil
	}
	if c.exec == nil || c.ended.Load() {
		return Answer{}, ErrCallEnded
	}
	if q.Schema != nil {
		if err := checkSchema(q.Schema); err != nil {
			return Answer{}, fmt.Errorf("question: schema: %w", err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.exec, func() { cancel(context.Cause(c.exec)) })
	defer stop()
	answer, err := c.ask(ctx, q)
	if errors.Is(err, session.ErrClosed) {
		err = ErrCallEnded
	}
	return answer, err
}

// ask owns the receiving token from the question to its answer.
func (c *Call) ask(ctx context.Context, q Question) (Answer, error) {
	select {
	case <-c.receiving:
		defer func() { c.receiving <- struct{}{} }()
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	id := c.questions.Add(1)
	err := c.send(ctx, &pb.Frame{Body: &pb.Frame_Question{Question: &pb.Question{
		Id: id, Message: cut(q.Message, maxSmallText), Schema: q.Schema,
	}}})
	if err != nil {
		return Answer{}, err
	}
	for {
		f, err := c.wire.Recv(ctx)
		if err != nil {
			return Answer{}, err
		}
		if a := f.GetAnswer(); a != nil && a.GetId() == id { // others answer questions that were given up
			return decodeAnswer(a), nil
		}
	}
}

func decodeAnswer(a *pb.Answer) Answer {
	switch a.GetAction() {
	case pb.AnswerAction_ANSWER_ACTION_ACCEPT:
		return Answer{Action: "accept", Content: a.GetContent()}
	case pb.AnswerAction_ANSWER_ACTION_CANCEL:
		return Answer{Action: "cancel"}
	}
	return Answer{Action: "decline"}
}
