// Package profile sums up CPU profiles by what the time was spent on.
package profile

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Kinds are what time is spent on, in the order in which they are shown.
var Kinds = []string{Schemas, Wire, Rules, SDK, Sockets, Scheduling, Memory, Other}

// What time is spent on.
const (
	Schemas    = "JSON and schemas"
	Wire       = "session and messages"
	Rules      = "limits, policy, views, forms"
	SDK        = "the SDK, the tool and who calls"
	Sockets    = "reading and writing sockets"
	Scheduling = "scheduling and waking"
	Memory     = "allocation, garbage collection, stacks"
	Other      = "other"
)

// runtime functions that make a stack one of scheduling, or of memory, wherever they are in it.
var runtimeKinds = []struct{ kind, names string }{
	{Memory, " mallocgc newobject makeslice growslice gcBgMarkWorker gcAssistAlloc gcStart bgsweep bgscavenge wbBufFlush newstack morestack deductAssistCredit "},
	{Scheduling, " mcall schedule findRunnable goready ready wakep startm newproc mstart mstart1 netpoll netpollBreak sysmon gosched_m park_m exitsyscall entersyscall reentersyscall "},
}

// packages say what a function is about; the innermost one that is known counts.
var packages = []struct{ prefix, kind string }{
	{"syscall.", Sockets}, {"internal/poll.", Sockets}, {"internal/runtime/syscall", Sockets},
	{"github.com/toolhost/toolhost/host/internal/schema", Schemas}, {"github.com/toolhost/toolhost/internal/rawjson", Schemas},
	{"github.com/toolhost/toolhost/internal/plain", Schemas},
	{"github.com/toolhost/toolhost/host/internal/jsonvalue", Schemas}, {"github.com/santhosh-tekuri/jsonschema", Schemas}, {"encoding/json", Schemas},
	{"github.com/toolhost/toolhost/proto", Wire}, {"google.golang.org/", Wire},
	{"github.com/toolhost/toolhost/pluginsdk", SDK}, {"github.com/toolhost/toolhost/bench", SDK}, {"main.", SDK},
	{"github.com/toolhost/toolhost/host", Rules},
}

// Read sums up the profile in a file. It asks go tool pprof.
func Read(path string) (map[string]time.Duration, error) {
	text, err := exec.Command("go", "tool", "pprof", "-traces", path).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof -traces %s: %w", path, err)
	}
	return sum(text)
}

// sum reads the traces: blocks between lines of dashes, each a time and a stack from the innermost function on.
func sum(text []byte) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	var (
		took  time.Duration
		stack []string
	)
	end := func() {
		if len(stack) > 0 {
			all[kind(stack)] += took
		}
		took, stack = 0, nil
	}
	begun := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "-----") {
			end()
			begun = true
			continue
		}
		fields := strings.Fields(strings.TrimSuffix(line, " (inline)"))
		if !begun || len(fields) == 0 {
			continue
		}
		if len(stack) == 0 && len(fields) > 1 {
			d, err := time.ParseDuration(fields[0])
			if err != nil {
				return nil, fmt.Errorf("a trace of pprof begins with %q", line)
			}
			took, fields = d, fields[1:]
		}
		stack = append(stack, fields[0])
	}
	end()
	return all, nil
}

// kind is what the time of a stack was spent on.
func kind(stack []string) string {
	for _, k := range runtimeKinds {
		for _, f := range stack {
			if name, ok := strings.CutPrefix(f, "runtime."); ok && strings.Contains(k.names, " "+name+" ") {
				return k.kind
			}
		}
	}
	for _, f := range stack {
		for _, p := range packages {
			if strings.HasPrefix(f, p.prefix) {
				return p.kind
			}
		}
	}
	return Other
}
