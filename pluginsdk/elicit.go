package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Question is asked of the caller while the tool runs.
type Question struct {
	// Message is what to ask, for people.
	Message string
	// Schema is the JSON Schema of the answer's content; nil asks for a yes only. A form only has one. MCP clients have flat forms: one
	// with objects in objects is declined there.
	Schema json.RawMessage
	// Kind is what is asked for. If empty, QuestionForm.
	Kind QuestionKind
	// Params is a JSON object: the parameters of the MCP request that a kind other than the form stands for. If
	// nil, there are none.
	Params json.RawMessage
}

// QuestionKind is what a question asks for.
type QuestionKind string

// The kinds.
const (
	QuestionForm     QuestionKind = "form"     // content that satisfies the schema, from a person: MCP's elicitation/create
	QuestionSampling QuestionKind = "sampling" // a message of the caller's model: MCP's sampling/createMessage
	QuestionRoots    QuestionKind = "roots"    // the caller's roots: MCP's roots/list
)

// Answer is what the caller did with a question.
type Answer struct {
	// Action is "accept", "decline" or "cancel".
	Action string
	// Content is the JSON content of an accepted question: of a form it satisfies the schema; of another kind it is the
	// result of the MCP request as the caller gave it, which nobody checked.
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
// answers no questions, or none of this kind, declines at once. The call's time stands still meanwhile. The questions of one
// call are asked one after the other, but for those of one ElicitAll. It may be called by Execute only.
func (c *Call) Elicit(ctx context.Context, q Question) (Answer, error) {
	answers, err := c.ElicitAll(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	return answers[0], nil
}

// ElicitAll asks several questions at once, at most 16, and waits for all the answers, which come in the order of the
// questions. A client of MCP that answers by repeating the call is asked all of them in one round. It is
// otherwise like Elicit. With an error there are no answers.
func (c *Call) ElicitAll(ctx context.Context, questions ...Question) ([]Answer, error) {
	answers := make([]Answer, len(questions))
	var ask []*pb.Question
	for i, q := range questions {
		frame, err := q.encode(uint32(i))
		if err != nil {
			return nil, err
		}
		answers[i].Action = "decline"
		if c.puts(frame.GetKind()) {
			ask = append(ask, frame)
		}
	}
	switch {
	case len(ask) > maxQuestions:
		return nil, fmt.Errorf("%d questions at once; the most is %d", len(ask), maxQuestions)
	case len(ask) == 0:
		return answers, nil
	case c.exec == nil || c.ended.Load():
		return nil, ErrCallEnded
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.exec, func() { cancel(context.Cause(c.exec)) })
	defer stop()
	err := c.ask(ctx, ask, answers)
	if errors.Is(err, session.ErrClosed) {
		err = ErrCallEnded
	}
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// Sample asks for a message of the caller's model. params is a JSON object, the parameters of MCP's sampling/createMessage; the
// content of an accepted answer is its result. It is otherwise like Elicit with QuestionSampling.
func (c *Call) Sample(ctx context.Context, params json.RawMessage) (Answer, error) {
	return c.Elicit(ctx, Question{Message: "The tool asks for a message of the model.", Kind: QuestionSampling, Params: params})
}

// Roots asks for the caller's roots. The content of an accepted answer is the result of MCP's roots/list. It is otherwise
// like Elicit with QuestionRoots.
func (c *Call) Roots(ctx context.Context) (Answer, error) {
	return c.Elicit(ctx, Question{Message: "The tool asks for the roots.", Kind: QuestionRoots})
}

// maxQuestions is how many questions of a call may wait for their answers; the session holds both ends to it.
const maxQuestions = 16

// maxForm is the most bytes of a form, its message and schema together: what every host takes.
const maxForm = 63 << 10

var questionKinds = map[QuestionKind]pb.QuestionKind{
	"":               pb.QuestionKind_QUESTION_KIND_FORM,
	QuestionForm:     pb.QuestionKind_QUESTION_KIND_FORM,
	QuestionSampling: pb.QuestionKind_QUESTION_KIND_SAMPLING,
	QuestionRoots:    pb.QuestionKind_QUESTION_KIND_ROOTS,
}

// encode checks the question. Its id is its place until it is asked.
func (q Question) encode(place uint32) (*pb.Question, error) {
	kind, known := questionKinds[q.Kind]
	form, message := kind == pb.QuestionKind_QUESTION_KIND_FORM, cut(q.Message, maxSmallText)
	switch {
	case !known:
		return nil, fmt.Errorf("question: unknown kind %q", q.Kind)
	case q.Params != nil && form:
		return nil, errors.New("question: a form has no Params")
	case q.Params != nil && !isObject(q.Params):
		return nil, errors.New("question: Params: no JSON object")
	case q.Schema != nil && !form:
		return nil, fmt.Errorf("question: one of kind %s has no Schema", q.Kind)
	case form && len(message)+len(q.Schema) > maxForm:
		return nil, fmt.Errorf("question: a form of %d bytes; the limit is %d", len(message)+len(q.Schema), maxForm)
	}
	if q.Schema != nil {
		if err := checkSchema(q.Schema); err != nil {
			return nil, fmt.Errorf("question: schema: %w", err)
		}
	}
	return &pb.Question{Id: place, Kind: kind, Message: message, Schema: q.Schema, Params: q.Params}, nil
}

// puts reports whether the host puts questions of a kind to the caller. One that does not know kinds names none.
func (c *Call) puts(kind pb.QuestionKind) bool {
	return c.open.GetAnswers() && (kind == pb.QuestionKind_QUESTION_KIND_FORM || slices.Contains(c.open.GetKinds(), kind))
}

// ask owns the receiving token from the first question to the last answer. Questions that were given up take up places of the
// call until they are answered.
func (c *Call) ask(ctx context.Context, questions []*pb.Question, answers []Answer) error {
	if err := c.receiving.take(ctx); err != nil {
		return err
	}
	defer c.receiving.giveBack()
	for c.unanswered+len(questions) > maxQuestions {
		if _, err := c.receiveAnswer(ctx); err != nil {
			return err
		}
	}
	places := map[uint32]uint32{} // id to place
	for _, q := range questions {
		place := q.GetId()
		c.questions++
		q.Id, q.Together = c.questions, uint32(len(questions))
		places[q.Id] = place
		if err := c.send(ctx, &pb.Frame{Body: &pb.Frame_Question{Question: q}}); err != nil {
			return err
		}
		c.unanswered++
	}
	for len(places) > 0 {
		a, err := c.receiveAnswer(ctx)
		if err != nil {
			return err
		}
		if place, asked := places[a.GetId()]; asked { // others answer questions that were given up
			answers[place] = decodeAnswer(a)
			delete(places, a.GetId())
		}
	}
	return nil
}

// receiveAnswer returns the next answer. The caller has the receiving token.
func (c *Call) receiveAnswer(ctx context.Context) (*pb.Answer, error) {
	for {
		f, err := c.recv(ctx)
		if err != nil {
			return nil, err
		}
		if a := f.GetAnswer(); a != nil {
			c.unanswered--
			return a, nil
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
