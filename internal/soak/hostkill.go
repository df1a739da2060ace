//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
)

// goneLimit is how long anything may live after its host was killed (K4).
const goneLimit = 2 * time.Second

// hostPlugins is how many plugins a host has that is killed, and family how many processes each is with its
// descendants: a child, one in a session of its own, and one whose parent is gone.
const (
	hostPlugins = 5
	family      = 4
)

// hostKills kills a host with SIGKILL, again and again, and looks for what is left of its plugins and what they
// started. If asInit, each host is process 1 of a pid namespace of its own.
func hostKills(ctx context.Context, base, dir string, rounds int, asInit bool, r *report, args ...string) error {
	f, err := newFleet(base, dir, hostPlugins, args...)
	if err != nil {
		return err
	}
	var worst time.Duration
	seen, left := 0, 0
	for i := range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, took, alive, err := hostKill(ctx, f, asInit, time.Duration(rand.IntN(100))*time.Millisecond)
		if err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		worst, seen = max(worst, took), seen+n
		if len(alive) > 0 {
			left++
			r.say("round %d: alive after %v: %s", i, goneLimit, strings.Join(alive, "; "))
		}
		r.hold(n >= 1+hostPlugins*family, "round %d: only %d processes were there to be killed", i, n)
	}
	r.say("rounds %d, processes %d, rounds with one alive after %v: %d, worst time to the last one's end %v",
		rounds, seen, goneLimit, left, worst.Round(time.Millisecond))
	r.hold(left == 0, "%d of %d rounds left a process alive %v after the host was killed", left, rounds, goneLimit)
	return nil
}

// hostKill is one round. It returns how many processes there were, and how long the last one lived.
func hostKill(ctx context.Context, f *fleet, asInit bool, after time.Duration) (n int, took time.Duration, alive []string, err error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{victimArg, strconv.FormatBool(asInit), f.dir}, f.args...)...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if asInit {
		initAttr(cmd.SysProcAttr)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		for _, pid := range marked(f.mark()) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ours; what is gone is gone
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		return 0, 0, nil, fmt.Errorf("the host said %q: %w", line, err)
	}
	for end := time.Now().Add(goneLimit); n < 1+hostPlugins*family && time.Now().Before(end); n = len(marked(f.mark())) {
		time.Sleep(5 * time.Millisecond) // a descendant may still be on its way
	}
	time.Sleep(after) // in the middle of its calls
	begun := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		return n, 0, nil, err
	}
	_ = cmd.Wait() // it was killed
	for time.Since(begun) < goneLimit {
		first, again := len(marked(f.mark())), len(marked(f.mark())) // one look may miss what is just being forked
		if first+again == 0 {
			return n, time.Since(begun), nil, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, pid := range marked(f.mark()) {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		alive = append(alive, fmt.Sprintf("%d %q %.200q", pid, args, state))
	}
	return n, time.Since(begun), alive, nil
}

// initAttr makes a process the first of a pid namespace, with the mounts that a /proc of its own needs.
func initAttr(a *syscall.SysProcAttr) {
	a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	if os.Getuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// victimArg as the first argument makes this program a host that is there to be killed.
const victimArg = "victim-host"

// victimHost starts plugins with descendants, says so, and makes calls until it is killed.
func victimHost(args []string) error {
	if len(args) < 2 {
		return errors.New("not for use by hand")
	}
	if asInit, _ := strconv.ParseBool(args[0]); asInit {
		if os.Getpid() != 1 {
			return errors.New("not process 1")
		}
		if err := ownProc(); err != nil {
			return err
		}
	}
	f := &fleet{dir: args[1], args: args[2:]}
	for i := range hostPlugins {
		f.names = append(f.names, fmt.Sprintf("p%02d", i))
	}
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{Plugins: f.plugins(), StateDir: filepath.Join(f.dir, "state"), Limits: host.Limits{Start: 30 * time.Second}})
	if err != nil {
		return err
	}
	for _, name := range f.names {
		if _, err := h.Call(ctx, host.Call{Tool: name + "/spawn", Input: json.RawMessage(`{"id":0}`)}); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	var callers sync.WaitGroup
	for _, name := range f.names {
		callers.Go(func() { // ends with the process
			for {
				_, _ = h.Call(ctx, host.Call{Tool: name + "/echo", Input: json.RawMessage(`{"id":1}`)})
				time.Sleep(time.Millisecond)
			}
		})
	}
	callers.Wait()
	return nil
}

// ownProc mounts the /proc of this pid namespace, as a container has.
func ownProc() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	return syscall.Mount("proc", "/proc", "proc", 0, "")
}
