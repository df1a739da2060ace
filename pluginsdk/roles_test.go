package pluginsdk

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// runRole is the main function of a test's child process.
func runRole(role string) {
	switch role {
	case "serve":
		fmt.Println("noise before the handshake")
		Serve(roleTools()...)
	case "settings":
		ServeFunc(func(_ context.Context, r *Registry) error {
			var s settings
			return errors.Join(r.Settings(&s), r.Set(roleTools()...))
		})
	case "orphan-parent": // starts a child and leaves it
		cmd := roleCommand("orphan-child")
		if err := cmd.Start(); err != nil {
			log.Fatal(err)
		}
	case "orphan-child":
		time.Sleep(100 * time.Millisecond) // so that its parent ends first
	default:
		log.Fatalf("no role %q", role)
	}
}

func roleCommand(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLUGINSDK_TEST_ROLE="+role, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func roleTools() []Definition {
	return []Definition{
		newTool("print", func(context.Context, *Call, nothing) (nothing, error) {
			fmt.Println("by fmt")
			fmt.Fprintln(os.Stderr, "by fmt to stderr")
			log.Print("by log")
			slog.Info("by slog")
			if _, err := syscall.Write(1, []byte("by descriptor 1\n")); err != nil {
				return nothing{}, err
			}
			_, err := syscall.Write(2, []byte("by descriptor 2\n"))
			return nothing{}, err
		}),
		newTool("wait", func(ctx context.Context, c *Call, _ nothing) (nothing, error) {
			c.Progress(1, 0, "started")
			<-ctx.Done()
			fmt.Println("cancelled:", context.Cause(ctx))
			return nothing{}, ctx.Err()
		}),
		newTool("deaf", func(_ context.Context, c *Call, _ nothing) (nothing, error) {
			c.Progress(1, 0, "started")
			select {}
		}),
		newTool("crash", func(context.Context, *Call, nothing) (nothing, error) {
			done := make(chan struct{})
			go func() { defer close(done); panic("in a goroutine") }() // ends the process
			<-done
			select {}
		}),
		newTool("env", func(context.Context, *Call, nothing) ([]string, error) {
			var names []string
			for _, pair := range os.Environ() {
				if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "TOOLHOST_") {
					names = append(names, name)
				}
			}
			return names, nil
		}),
		newTool("children", runChildren),
	}
}

// runChildren leaves an orphan to this process, and has a child of its own that it waits for
// only after the reaper has looked a few times.
func runChildren(context.Context, *Call, nothing) (string, error) {
	if err := roleCommand("orphan-parent").Run(); err != nil {
		return "", fmt.Errorf("parent: %w", err)
	}
	own := roleCommand("orphan-child")
	if err := own.Start(); err != nil {
		return "", err
	}
	time.Sleep(4 * reapTestPause)
	if err := own.Wait(); err != nil {
		return "", fmt.Errorf("the reaper took a child that is waited for: %w", err)
	}
	return "ok", nil
}

const reapTestPause = time.Second
