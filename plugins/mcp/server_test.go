package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testServer is a hostile MCP server. How says what it does before it is asked for tools; the tools have an evil each.
type testServer struct {
	how string
	dir string // where it leaves marks; may be empty

	mu    sync.Mutex
	calls map[string]chan string // by id: gets the id when it is cancelled
	asked map[string]chan json.RawMessage
	last  int
}

func serveTest(how string) {
	s := &testServer{how: how, dir: os.Getenv("MCP_TEST_DIR"), calls: map[string]chan string{}, asked: map[string]chan json.RawMessage{}}
	s.mark("starts", fmt.Sprint(os.Getpid()))
	if s.is("exit") {
		fmt.Fprintln(os.Stderr, "the license has expired")
		os.Exit(7)
	}
	if s.is("junk") {
		fmt.Print("Welcome to the server\n{\"level\":\"info\",\"msg\":\"starting\"}\n\n[1,2]\n\x00\xff\n")
	}
	if s.is("stubborn") {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			s.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
			continue
		}
		s.handle(m.ID, m.Method, m.Params, append(m.Result, m.Error...))
	}
	for s.is("stubborn") {
		time.Sleep(time.Hour) // a goroutine that waits for nothing would be a deadlock, which ends the process
	}
}

func (s *testServer) is(what string) bool {
	for _, w := range strings.Split(s.how, ",") {
		if w == what {
			return true
		}
	}
	return false
}

// mark appends a line to a file of the test's.
func (s *testServer) mark(file, line string) {
	if s.dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(s.dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, line)
		f.Close()
	}
}

func (s *testServer) write(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	os.Stdout.WriteString(line + "\n")
}

func (s *testServer) result(id json.RawMessage, result string) {
	s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (s *testServer) handle(id json.RawMessage, method string, params, answer json.RawMessage) {
	s.mark("methods", method)
	switch method {
	case "":
		s.mu.Lock()
		if c := s.asked[string(id)]; c != nil {
			c <- answer
		}
		s.mu.Unlock()
	case "server/discover":
		s.discover(id)
	case "initialize":
		if s.is("mute") {
			return
		}
		if s.is("modern") {
			s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no such method"}}`)
			return
		}
		s.result(id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"hostile","version":"1"}}`)
	case "logging/setLevel", "ping":
		s.result(id, `{}`)
	case "tools/list":
		s.list(id, params)
	case "tools/call":
		s.mu.Lock()
		s.calls[string(id)] = make(chan string, 1)
		s.mu.Unlock()
		go s.call(id, params)
	case "notifications/cancelled":
		s.mark("cancelled", string(params))
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(params, &p)
		s.mu.Lock()
		if c := s.calls[string(p.ID)]; c != nil {
			c <- string(p.ID)
		}
		s.mu.Unlock()
	}
}

func (s *testServer) discover(id json.RawMessage) {
	switch {
	case s.is("modern"):
		s.result(id, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"m","version":"1"}}`)
	case s.is("silent"):
	case s.is("dies"):
		os.Exit(1)
	default:
		s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no such method"}}`)
	}
}

// oddTools is a list of which two entries are tools.
const oddTools = `[null, 5, "x", {"description":"no name"}, {"name":"a","annotations":{"readOnlyHint":"yes"},"inputSchema":{"type":"object","x":9007199254740993}}, {"inputSchema" : null, "name":"b"}]`

func (s *testServer) list(id, params json.RawMessage) {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	_ = json.Unmarshal(params, &p)
	switch {
	case s.is("odd"):
		s.result(id, `{"tools":`+oddTools+`}`)
	case s.is("repeats"):
		s.result(id, `{"tools":[{"name":"t"}],"nextCursor":"same"}`)
	case s.is("endless"):
		s.mu.Lock()
		s.last++
		n := s.last
		s.mu.Unlock()
		s.result(id, fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"c%[1]d"}`, n))
	case s.is("emptycursor") && p.Cursor == nil:
		s.result(id, `{"tools":[{"name":"first"}],"nextCursor":""}`)
	case s.is("emptycursor"):
		s.result(id, `{"tools":[{"name":"second"}]}`)
	case s.is("tools"):
		tool := func(name string) string {
			return `{"name":"` + name + `","description":"does","inputSchema":{"type":"object"}}`
		}
		s.result(id, `{"tools":[`+tool("crash")+","+tool("echo")+","+tool("wait")+`]}`)
	case s.is("tools"):
		var tools []string
		for _, name := range []string{"crash", "echo", "wait"} {
			tools = append(tools, `{"name":"`+name+`","description":"does","inputSchema":{"type":"object"}}`)
		}
		s.result(id, `{"tools":[`+strings.Join(tools, ",")+`]}`)
	case s.is("nolist"):
		s.result(id, `{"tools":"none"}`)
	case s.is("grows"): // each process has one more
		started, _ := os.ReadFile(filepath.Join(s.dir, "starts"))
		s.result(id, fmt.Sprintf(`{"tools":[{"name":"t%d"}]}`, strings.Count(string(started), "\n")))
	default:
		s.result(id, `{"tools":[{"name":"echo"}]}`)
	}
}

// ask sends a request to the client and returns the answer.
func (s *testServer) ask(method, params string) json.RawMessage {
	s.mu.Lock()
	s.last++
	id := fmt.Sprintf(`"q%d"`, s.last)
	c := make(chan json.RawMessage, 1)
	s.asked[id] = c
	s.mu.Unlock()
	s.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return <-c
}

const form = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","default":3}}}}`

func (s *testServer) call(id, params json.RawMessage) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		Responses json.RawMessage `json:"inputResponses"`
		State     json.RawMessage `json:"requestState"`
	}
	_ = json.Unmarshal(params, &p)
	s.mark("calls", p.Name)
	progress := func(n int) {
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"step"}}`, p.Meta.Token, n))
	}
	switch p.Name {
	case "echo":
		s.result(id, `{"content":[],"structuredContent":`+string(p.Arguments)+`,"pid":`+fmt.Sprint(os.Getpid())+`}`)
	case "params":
		s.result(id, string(params))
	case "env":
		raw, _ := json.Marshal(os.Environ())
		s.result(id, string(raw))
	case "big":
		var a struct{ Size int }
		_ = json.Unmarshal(p.Arguments, &a)
		s.write(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"` + strings.Repeat("x", a.Size) + `"}]},"id":` + string(id) + `}`)
	case "junk":
		s.write("oops {")
		s.result(id, `{}`)
	case "burst":
		os.Stderr.WriteString(strings.Repeat("e", 1<<20) + "\n" + strings.Repeat("short line\n", 1<<17))
		s.result(id, `{}`)
	case "crash":
		fmt.Fprintln(os.Stderr, "segmentation fault in module 9, TOKEN=hush-hush-hush")
		os.Exit(3)
	case "litter": // leaves a child that holds the pipes, and crashes
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			s.mark("litter", err.Error())
		}
		s.mark("litter", fmt.Sprint(cmd.Process.Pid))
		os.Exit(3)
	case "wait", "late": // until it is cancelled
		s.mark("waits", string(id))
		s.mu.Lock()
		c := s.calls[string(id)]
		s.mu.Unlock()
		<-c
		if p.Name == "late" {
			s.result(id, `{"late":true}`)
		}
	case "progress":
		for n := 1; n <= 3; n++ {
			progress(n)
		}
		s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":{"slow":true}}}`)
		s.result(id, `{}`)
	case "changes":
		for range 20 {
			s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		s.result(id, `{}`)
	case "ask":
		s.result(id, string(s.ask("elicitation/create", form)))
	case "askmine": // names the call
		s.result(id, string(s.ask("elicitation/create", `{"_meta":{"progressToken":`+string(p.Meta.Token)+`},`+form[1:])))
	case "roots":
		s.result(id, string(s.ask("roots/list", `{}`)))
	case "strange":
		s.result(id, string(s.ask("files/delete", `{}`)))
	case "ping":
		s.result(id, string(s.ask("ping", `{}`)))
	case "rounds":
		s.rounds(id, p.Responses, p.State)
	case "busy":
		s.result(id, `{"resultType":"input_required","requestState":"again"}`)
	default:
		s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32602,"message":"no such tool","data":{"n":9007199254740993}}}`)
	}
}

// rounds asks twice before it answers.
func (s *testServer) rounds(id, responses, state json.RawMessage) {
	q := `"inputRequests":{"a":{"method":"elicitation/create","params":` + form + `},"b":{"method":"roots/list","params":{}}}`
	switch string(state) {
	case "":
		s.result(id, `{"resultType":"input_required","requestState":"one < two",`+q+`}`)
	case `"one < two"`:
		s.mark("responses", string(responses))
		s.result(id, `{"resultType":"input_required","requestState":"two","inputRequests":{"c":{"method":"roots/list"}}}`)
	default:
		s.mark("responses", string(responses))
		s.result(id, `{"resultType":"complete","state":`+string(state)+`}`)
	}
}

// serverSettings starts this binary as a server that behaves as how says.
func serverSettings(t *testing.T, how string) (s settings, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	return settings{Command: exe, Env: map[string]string{"MCP_TEST_SERVER": how, "MCP_TEST_DIR": dir, "GORACE": "atexit_sleep_ms=0"}}, dir
}

// marks are the lines that a server left in a file.
func marks(t *testing.T, dir, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}
