//go:build linux

package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

// Main is the main function of the plugin. Its arguments are the journal, or "" for none, and a mark by which its
// process and what it starts are found. With the argument "sleep" first it is one of its own grandchildren.
func Main() {
	if len(os.Args) > 1 && os.Args[1] == SleepArg {
		sleep(os.Args[2:])
	}
	stamp, err := ReadStamp("/proc/self/exe")
	if err != nil {
		fmt.Fprintln(os.Stderr, "stamp:", err)
		os.Exit(2)
	}
	if stamp.Broken {
		fmt.Fprintln(os.Stderr, "this version is broken on purpose")
		os.Exit(3)
	}
	s := &server{version: stamp.Version}
	if len(os.Args) > 1 && os.Args[1] != "" {
		if s.journal, err = OpenJournal(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "journal:", err)
			os.Exit(2)
		}
	}
	pluginsdk.Serve(s.tools()...)
}

// server is one process of the plugin.
type server struct {
	version int
	journal *Journal // nil: none
}

// Tools are the plugin's tools without a journal.
func Tools() []pluginsdk.Definition { return (&server{}).tools() }

func (s *server) tools() []pluginsdk.Definition {
	echo := s.tool("echo", "Answers at once.", func(context.Context, *pluginsdk.Call, Input) (string, error) { return "", nil })
	feed := echo
	feed.ID, feed.Description = "feed", "Answers at once, and reads its input as it comes."
	feed.OnInputDelta = func(context.Context, *pluginsdk.Call, string) error { return nil }
	return []pluginsdk.Definition{
		echo, feed,
		s.tool("slow", "Answers after n milliseconds.", wait),
		s.tool("stream", "Reports progress and writes, n times.", stream),
		s.tool("large", "Answers n bytes.", func(_ context.Context, _ *pluginsdk.Call, in Input) (string, error) { return Text(in.ID, in.N), nil }),
		s.tool("flood", "Floods stdout, stderr and the log with n lines each.", flood),
		s.tool("fill", "Fills its directory for temporary files with n bytes.", fill),
		s.tool("spawn", "Starts descendants that would live for an hour.", spawn),
		s.tool("exit", "Ends the process with status n.", func(_ context.Context, _ *pluginsdk.Call, in Input) (string, error) { os.Exit(in.N); return "", nil }),
	}
}

// tool is a tool that leaves its mark in the journal and answers with the checksum.
func (s *server) tool(id, description string, do func(context.Context, *pluginsdk.Call, Input) (string, error)) pluginsdk.Tool[Input, Output] {
	return pluginsdk.Tool[Input, Output]{
		ID: id, Description: description,
		Execute: func(ctx context.Context, call *pluginsdk.Call, in Input) (Output, error) {
			if s.journal != nil {
				if err := s.journal.Add(in.ID); err != nil {
					return Output{}, fmt.Errorf("journal: %w", err)
				}
			}
			text, err := do(ctx, call, in)
			return Output{ID: in.ID, Sum: Sum(in.ID, in.Text), Version: s.version, Text: text}, err
		},
	}
}

func wait(ctx context.Context, _ *pluginsdk.Call, in Input) (string, error) {
	t := time.NewTimer(time.Duration(in.N) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return "", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func stream(ctx context.Context, call *pluginsdk.Call, in Input) (string, error) {
	for i := range in.N {
		call.Progress(float64(i+1), float64(in.N), "")
		if err := call.Write(ctx, Piece{in.ID, i}); err != nil {
			return "", err
		}
	}
	return "", nil
}

func flood(_ context.Context, call *pluginsdk.Call, in Input) (string, error) {
	line := strings.Repeat("flood ", 20)
	for i := range in.N {
		fmt.Fprintln(os.Stdout, i, line)
		fmt.Fprintln(os.Stderr, i, line)
		call.Logger().Info(line, "i", i)
	}
	return "", nil
}

// fill leaves nothing behind if it is not killed.
func fill(_ context.Context, _ *pluginsdk.Call, in Input) (string, error) {
	f, err := os.CreateTemp("", "soak-fill-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 1<<20)
	for left := in.N; left > 0; left -= len(block) {
		if _, err := f.Write(block[:min(left, len(block))]); err != nil {
			return err.Error(), nil // a full disk is an answer
		}
	}
	return "", nil
}

// SleepArg as the first argument makes the program one of its own grandchildren.
const SleepArg = "sleep"

// spawn starts a child, a child in a session of its own, and one that has a child itself and leaves it. All hold the
// plugin's pipes.
func spawn(context.Context, *pluginsdk.Call, Input) (string, error) {
	for _, how := range []string{"", "setsid", "fork"} {
		if err := descend(how, os.Args[len(os.Args)-1]); err != nil {
			return "", err
		}
	}
	return "", nil
}

func descend(how, mark string) error {
	cmd := exec.Command("/proc/self/exe", SleepArg, how, mark)
	cmd.Args[0] = filepath.Base(os.Args[0])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: how != ""}
	return cmd.Start()
}

// sleep is the main function of a grandchild.
func sleep(args []string) {
	if args[0] == "fork" {
		if err := descend("setsid", args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	time.Sleep(time.Hour)
	os.Exit(0)
}

// Decode reads an output.
func Decode(raw json.RawMessage) (Output, error) {
	var out Output
	err := json.Unmarshal(raw, &out)
	return out, err
}
