package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// spent is how many bytes f allocates.
func spent(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestT5_AMessageIsDecodedWithinABudget(t *testing.T) {
	many := strings.Repeat(`{"a":0},`, 300_000) + "0"
	distinct := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%x":0,`, i)
		}
		return b.String()
	}
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + params + `}}`
	}
	for name, x := range map[string]struct {
		text string
		code int // 0: it is taken
	}{
		"a batch of everything":   {"[" + strings.Repeat("0,", 1<<20) + "0]", codeInvalidRequest},
		"the largest batch":       {"[" + strings.Repeat(ping+",", maxBatch-1) + ping + "]", 0},
		"members of a message":    {`{` + distinct(300_000) + `"jsonrpc":"2.0","id":1,"method":"ping"}`, codeInvalidRequest},
		"members of params":       {call(distinct(300_000) + `"x":0`), codeInvalidParams},
		"_meta":                   {call(`"_meta":{"a":[` + many + `]}`), codeInvalidParams},
		"inputResponses":          {call(`"inputResponses":{` + distinct(300_000) + `"x":0}`), codeInvalidParams},
		"params of an initialize": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"experimental":{"a":[` + many + `]}}}}`, codeInvalidParams},
		"large arguments":         {call(`"arguments":{"a":[` + many + `]}`), 0},
		"a large answer":          {`{"jsonrpc":"2.0","id":1,"result":{"a":[` + many + `]}}`, 0},
	} {
		text := []byte(x.text)
		var got int
		size := spent(func() {
			msgs, _, fault := parse(text)
			for _, m := range msgs {
				if m.fault != nil {
					fault = m.fault
				}
			}
			if fault != nil {
				got = fault.code
			}
		})
		if got != x.code {
			t.Errorf("%s: code %d, want %d", name, got, x.code)
		}
		if most := uint64(12*len(text) + 1<<20); size > most {
			t.Errorf("%s: %d bytes take %d of memory, more than %d", name, len(text), size, most)
		}
	}
}

func TestT5_AForgedStateCostsNoDecodingOfLargeArguments(t *testing.T) {
	args := json.RawMessage(`{"a":[` + strings.Repeat(`{"a":0},`, 600_000) + `0]}`)
	if size := spent(func() { bound(request{arguments: args}) }); size > 2*uint64(len(args)) {
		t.Errorf("%d bytes of arguments take %d of memory", len(args), size)
	}
	if !bytes.Equal(canonical(args), args) {
		t.Error("it is rewritten")
	}
}

func TestT5_RepeatedMembersAreReadInLinearTime(t *testing.T) {
	var b strings.Builder
	const n = 40_000
	for i := range n {
		fmt.Fprintf(&b, `"%x":0,`, i)
	}
	text := func(repeated int) json.RawMessage {
		return json.RawMessage("{" + b.String() + strings.Repeat(fmt.Sprintf(`"%x":1,`, n-1), repeated) + `"":0}`)
	}
	took := func(raw json.RawMessage) time.Duration {
		best := time.Hour
		for range 3 {
			began := time.Now()
			if o, ok := rawjson.ParseObject(raw); !ok || len(o) != n+1 {
				t.Fatalf("%v, %d members", ok, len(o))
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	if plain, repeated := took(text(0)), took(text(n)); repeated > 12*plain {
		t.Errorf("%v, and %v with as many members again that are repeated", plain, repeated)
	}
}

func TestR24_AClientThatDoesNotReadKeepsNoMoreThanItsCalls(t *testing.T) {
	in, out, ended := floodable(t)
	sent := make(chan struct{})
	go func() { // ends when all is read, or the server has gone
		defer close(sent)
		defer in.Close()
		fmt.Fprintln(in, initialize)
		for i := range 4 * maxOpen {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
		}
	}()
	<-sent
	select { // R29: it sees the end of its input, though nobody reads what it has to say
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
	out.Close()
}

func TestR24_AnswersThatNobodyReadsAreBounded(t *testing.T) {
	in, out, ended := floodable(t)
	fmt.Fprintln(in, initialize)
	if _, err := bufio.NewReaderSize(out, 64<<10).ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for i := range 4 * maxOpen {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"nope"}}`+"\n", i)
		if i%100 == 0 {
			time.Sleep(5 * time.Millisecond) // calls end meanwhile, not a signal
		}
	}
	settles(t, "goroutines that hold what nobody reads", 3*maxOpen, func() int { return runtime.NumGoroutine() - before })
	in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	out.Close()
}

func TestR24_QuestionsThatNobodyReadsEndWithTheirCalls(t *testing.T) {
	in, out, ended := floodable(t)
	fmt.Fprintln(in, initialize)
	if _, err := bufio.NewReaderSize(out, 64<<10).ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	for i := range outQueue + 2 { // nothing more can be written
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"nope"}}`+"\n", i)
	}
	const calls = 100
	asking := func() int {
		buf := make([]byte, 8<<20)
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), "(*link).ask(")
	}
	for i := range calls {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"ask","arguments":{"message":"?"}}}`+"\n", i)
	}
	settles(t, "calls that do not ask", 0, func() int { return calls - asking() })
	for i := range calls {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%d"}}`+"\n", i)
	}
	settles(t, "questions", 0, asking)
	in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	out.Close()
}

func TestR29_BatchesThatNobodyReadsTheAnswersToDoNotHideTheEnd(t *testing.T) {
	in, out, ended := floodable(t)
	for range 2 * outQueue {
		fmt.Fprintln(in, `[{"jsonrpc":"2.0","id":1,"method":7}]`)
	}
	in.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
	out.Close()
}

func TestR29_WhoReadsSlowlyGetsTheLastAnswers(t *testing.T) {
	s := newServer(t, Config{})
	const calls = 200 // more than are queued
	var n int
	for try := 0; n < calls && try < 20; try++ { // on a busy machine their time may be over
		n = readSlowly(t, s, calls)
	}
	if n != calls {
		t.Errorf("%d answers to %d calls", n, calls)
	}
}

// readSlowly makes calls, ends the input, and reads the answers only then.
func readSlowly(t *testing.T, s *Server, calls int) (answers int) {
	t.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut := io.Pipe()
	go func() { // ends with in
		defer serverOut.Close()
		if err := s.ServeStdio(context.Background(), serverIn, serverOut); err != nil {
			t.Error(err)
		}
	}()
	fmt.Fprintln(in, initialize)
	r := bufio.NewReader(out)
	if _, err := r.ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"nope","arguments":{"text":"%s"}}}`+"\n", i, strings.Repeat("x", 500))
	}
	in.Close()
	time.Sleep(lastCalls / 5) // it has all, and room for not all of the answers
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return bytes.Count(rest, []byte("\n"))
}

func TestR24_OneCallTooManyIsAnsweredWithAnError(t *testing.T) {
	sig := listenSignals(t)
	s := newServer(t, Config{})
	c := startStdio(t, s)
	c.shake()
	c.send(sig.call("0"))
	sig.await(t, "running")
	for i := range maxOpen {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"listen-%d","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, i, modernMeta))
	}
	last := fmt.Sprintf("listen-%d", maxOpen-1)
	if m := c.answerTo(last); dig(m, "error", "code") != float64(codeInternal) || !strings.Contains(fmt.Sprint(m), "busy") {
		t.Errorf("got %v", m)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
	sig.await(t, "cancelled")

	h := startHTTP(t, s)
	h.shake()
	if status, all := h.post("[" + strings.Repeat(ping+",", maxOpen) + ping + "]"); status != http.StatusBadRequest {
		t.Errorf("a batch of too many: %d %v", status, all)
	}
	if status, all := h.post(ping); status != http.StatusOK {
		t.Errorf("then a ping: %d %v", status, all)
	}
}

func TestHTTP_AnIdIsAnsweredAsItCameOrRefused(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	c.shake()
	for id, want := range map[string]int{
		"9007199254740992": 200, "-1": 200, `"9007199254740993"`: 200,
		"9007199254740993": 400, "18446744073709551616": 400, "-9223372036854775809": 400, strings.Repeat("9", 400): 400,
	} {
		for _, modern := range []bool{false, true} {
			body, header := `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list"}`, []string(nil)
			if modern {
				body, header = `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list","params":{`+modernMeta+`}}`, modernCall("tools/list", "")
			}
			r := c.request(t.Context(), "POST", body, header...)
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if r.StatusCode != want || !strings.Contains(string(text), `"id":`+id+`,`) {
				t.Errorf("%s: %d %.200s", id, r.StatusCode, text)
			}
		}
	}
}

func TestHTTP_ASecondInitializeOfASessionIsRefused(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	c.shake()
	if status, all := c.post(initialize); status != http.StatusBadRequest || dig(all[0], "error", "code") != float64(codeInvalidRequest) {
		t.Errorf("%d %v", status, all)
	}
	if status, _ := c.post(ping); status != http.StatusOK {
		t.Errorf("then a ping gets %d", status)
	}
}

// floodable is a server over stdio whose input has the room of a pipe and whose output has none. It ends with in.
func floodable(t *testing.T) (in *os.File, out *io.PipeReader, ended <-chan error) {
	t.Helper()
	s := newServer(t, Config{})
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut := io.Pipe()
	end := make(chan error, 1)
	go func() { end <- s.ServeStdio(context.Background(), serverIn, serverOut) }() // ends with in
	return in, out, end
}
