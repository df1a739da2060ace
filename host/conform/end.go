package conform

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
)

// cancel cancels calls in the middle. That they end in the plugin too shows when it is stopped: an SDK waits for
// what runs.
func (r *run) cancel(ctx context.Context) finding {
	list := r.running()
	if len(list) == 0 {
		return r.without()
	}
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	pid, hits, tries := g.status().PID, 0, 0
	for _, t := range list {
		for i := range 8 {
			after := min(t.took*time.Duration(i+1)/9, 200*time.Millisecond)
			hit, err := r.cancelled(ctx, g, t, after)
			if err != nil {
				return failed(remedyOf(err), "a call that is cancelled after %v: %v", after, err)
			}
			if tries++; hit {
				hits++
			}
		}
		if _, err := r.try(ctx, g, t.calls[0]); t.answered && fault(err) != "" {
			return failed("heed the context that Execute gets", "the call after a cancelled one: %v", err)
		}
	}
	if now := g.status().PID; now != pid {
		return failed("find out why the process ended", "the process %d ended; it is %d now", pid, now)
	}
	begin := time.Now()
	g.close()
	if hits > 0 && (g.log.says("did not return within") || time.Since(begin) >= r.cfg.Limits.Grace) { // the SDK says so; others may hang
		return failed("heed the context that Execute gets: return when it is done", "cancelled calls go on in the plugin until it is stopped")
	}
	if hits == 0 {
		return finding{Skipped, "the tools answered before they could be cancelled, in all of " + count(tries, "try"), "give an input that takes longer (Config.Calls, --input)"}
	}
	return okay("%d of %d calls were cancelled in the middle, and nothing of them goes on", hits, tries)
}

// cancelled makes a call and cancels it. hit: it had reached the plugin and was not over.
func (r *run) cancelled(ctx context.Context, g *rig, t *target, after time.Duration) (hit bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Limits.Call)
	defer cancel()
	timer := time.AfterFunc(after, cancel)
	defer timer.Stop()
	in := t.calls[0]
	_, err = g.Call(ctx, host.Call{Tool: in.Tool, Input: in.Input, Context: in.Context})
	e, ok := errors.AsType[*host.Error](err)
	switch {
	case ok && e.Code == host.Canceled:
		return e.Outcome != host.NotStarted, nil
	case fault(err) != "":
		return false, err
	}
	return false, nil
}

// hardKill ends the process with SIGKILL while it is called.
func (r *run) hardKill(ctx context.Context) finding {
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer func() { g.close() }()
	pid := g.status().PID
	if len(r.answering()) == 0 {
		if err := kill(pid); err != nil {
			return skip("it cannot be killed: %v", err)
		}
		g.close()
		if g, err = r.fresh(ctx, nil); err != nil {
			return failed("clean up at the start what an earlier process left: lock files, sockets", "after SIGKILL: %v", err)
		}
		return okay("after SIGKILL it starts again; no tool to call")
	}
	t := r.answering()[0]
	ends := make(chan error, 64)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() { // ends with stop, and the call that runs
			for {
				_, err := r.try(ctx, g, t.calls[0])
				select {
				case <-stop:
					return
				case ends <- err:
				}
			}
		})
	}
	for range 8 {
		<-ends
	}
	err = kill(pid)
	var odd error
	for range 16 { // four callers: some of these calls began after it
		if e := <-ends; honest(e) != nil {
			odd = e
		}
	}
	close(stop)
	callers.Wait()
	switch {
	case err != nil:
		return skip("it cannot be killed: %v", err)
	case odd != nil:
		return failed("clean up at the start what an earlier process left: lock files, sockets", "a call around SIGKILL: %v", odd)
	case g.status().PID == pid:
		return failed("", "the process %d is still there after SIGKILL", pid)
	}
	return okay("every call around SIGKILL had an outcome, and process %d answers in place of %d", g.status().PID, pid)
}

// honest returns an error unless a call ended as one may whose process was killed: with its answer, late, or with the evidence.
func honest(err error) error {
	e, ok := errors.AsType[*host.Error](err)
	if ok && e.Code == host.Timeout || fault(err) == "" {
		return nil
	}
	if x, ok := errors.AsType[*host.ExitError](err); ok && x.Signal == "SIGKILL" {
		return nil
	}
	return err
}

// stop tells the plugin to end, idle and in the middle of calls, and looks what is left of it.
func (r *run) stop(ctx context.Context) finding {
	f := r.stopOnce(ctx, false)
	if f.state == OK && len(r.running()) > 0 {
		return r.stopOnce(ctx, true)
	}
	return f
}

func (r *run) stopOnce(ctx context.Context, busy bool) finding {
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	var calls, begun sync.WaitGroup
	for _, t := range r.running() {
		if busy {
			begun.Add(1)
			calls.Go(func() { // ends with the host at the latest
				begun.Done()
				_, _ = r.try(ctx, g, t.calls[0]) // that there is an outcome is enough
			})
		}
	}
	begun.Wait()
	family := descendants(g.status().PID)
	begin := time.Now()
	g.close()
	took := time.Since(begin)
	calls.Wait()
	how := "idle"
	if busy {
		how = "in the middle of calls"
	}
	if took >= r.cfg.Limits.Grace {
		return failed("end when standard input ends, and at SIGTERM", "%s it did not end within %v of being told to, and was killed", how, r.cfg.Limits.Grace)
	}
	if left := alive(family); len(left) > 0 {
		return failed("end the processes that it starts, or leave its group and sandbox alone", "stopped %s it left processes: %v", how, left)
	}
	return okay("it ends by itself, %s within %v, and leaves nothing", how, took.Round(time.Millisecond))
}

// kill ends a process at once.
func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
