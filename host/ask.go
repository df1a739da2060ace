package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/schema"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Question is what a tool asks its caller while it runs.
type Question struct {
	Message  string          `json:"message"`            // for people, in the plugin's words
	Schema   json.RawMessage `json:"schema,omitempty"`   // of a form: of the answer's content
	Kind     QuestionKind    `json:"kind,omitempty"`     // empty means QuestionForm; decline a kind that you do not know
	Params   json.RawMessage `json:"params,omitempty"`   // of another kind: the MCP request's parameters, a JSON object; nil: none
	Together int             `json:"together,omitempty"` // how many questions the tool puts at once, this one included, at most 16; 0 and 1: it alone. It is the plugin's word: do not wait for the others without a limit
}

// QuestionKind is what a question asks for.
type QuestionKind string

// The kinds.
const (
	QuestionForm     QuestionKind = "form"     // content that satisfies Question.Schema, from a person: MCP's elicitation/create
	QuestionSampling QuestionKind = "sampling" // a message of the caller's model: MCP's sampling/createMessage
	QuestionRoots    QuestionKind = "roots"    // the caller's roots: MCP's roots/list
)

// Answer is the caller's answer.
type Answer struct {
	Action string `json:"action"` // "accept", "decline" or "cancel"; anything else declines

	// Content is that of an accepted question. For a form, one that breaks the question's schema cancels. For another kind it is
	// the result of the MCP request; that it is JSON is all that is checked.
	Content json.RawMessage `json:"content,omitempty"`
}

// maxTogether is the most questions of a call that wait for an answer at once; the session holds the plugin to it.
const maxTogether = 16

// ask puts a question of the tool to the caller. The goroutine ends with the caller's function, which is
// told by ctx when the call is over; nothing waits for it, since a caller's function that ignores that must
// not keep the host open (K1).
func (a *attempt) ask(ctx context.Context, frame *pb.Question) {
	answer := func(ans *pb.Answer) {
		ans.Id = frame.GetId()
		_ = a.call.Send(ctx, &pb.Frame{Body: &pb.Frame_Answer{Answer: ans}}) // fails only when the call is over
	}
	q, known := toQuestion(frame)
	elicit := a.run.call.Elicit
	if elicit == nil || !known {
		answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_DECLINE})
		return
	}
	resume := a.run.pause()
	go func() {
		got, err := guardElicit(ctx, elicit, q)
		resume()
		if err == nil && got.Action == "accept" {
			err = q.check(got.Content)
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

// askedKinds are those beside the form that a plugin may send.
var askedKinds = []pb.QuestionKind{pb.QuestionKind_QUESTION_KIND_SAMPLING, pb.QuestionKind_QUESTION_KIND_ROOTS}

// toQuestion returns the caller's form of a question; false: of a kind that this host does not know, or with parameters that are
// no JSON object.
func toQuestion(q *pb.Question) (Question, bool) {
	out := Question{Message: q.GetMessage(), Together: int(min(q.GetTogether(), maxTogether))}
	switch q.GetKind() {
	case pb.QuestionKind_QUESTION_KIND_UNSPECIFIED, pb.QuestionKind_QUESTION_KIND_FORM:
		out.Schema = q.GetSchema()
		return out, true
	case pb.QuestionKind_QUESTION_KIND_SAMPLING:
		out.Kind = QuestionSampling
	case pb.QuestionKind_QUESTION_KIND_ROOTS:
		out.Kind = QuestionRoots
	default:
		return out, false
	}
	if len(q.GetParams()) > 0 {
		out.Params = q.GetParams()
	}
	return out, out.Params == nil || json.Valid(out.Params) && bytes.HasPrefix(bytes.TrimLeft(out.Params, " \t\r\n"), []byte("{"))
}

// check holds the content of an answer against the question.
func (q Question) check(content []byte) error {
	if q.Kind == "" || q.Kind == QuestionForm {
		return checkAnswer(q.Schema, content)
	}
	if !json.Valid(content) {
		return errors.New("the answer's content is no JSON")
	}
	return nil
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
