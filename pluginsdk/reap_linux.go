package pluginsdk

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// reaper collects orphans when this process is process 1 of a pid namespace (K11): a
// child of a child whose parent ended becomes a child of process 1 and stays a
// zombie until process 1 waits for it.
//
// It must not take the children that the author's own code waits for, and wait4(-1) would.
// A zombie is taken only if it is still one at a second look some time later, and if
// this process holds no pidfd of it: os/exec holds one until its Wait. Only then is that very pid waited for.
type reaper struct {
	signals chan os.Signal
	done    chan struct{}
	joined  chan struct{}
	pause   time.Duration // between the looks
	selfPID string        // this process in /proc's numbering, which may be an outer namespace's
	level   int           // which number of a NSpid line is in our own numbering
}

// reapPause is long enough for a Wait that is about to be called, and
// short enough that zombies do not gather.
const reapPause = time.Second

// startReaper returns nil if there is nothing to do.
func startReaper() *reaper {
	if os.Getpid() != 1 {
		return nil
	}
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return nil // no /proc: zombies cannot be told apart, so none is taken
	}
	r := &reaper{
		signals: make(chan os.Signal, 1), done: make(chan struct{}), joined: make(chan struct{}),
		pause: reapPause, selfPID: self, level: len(nsPIDs("/proc/self/status")) - 1,
	}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go r.run() // ends with stop, which waits for it
	return r
}

func (r *reaper) stop() {
	if r == nil {
		return
	}
	signal.Stop(r.signals)
	close(r.done)
	<-r.joined
}

// run looks only after a child changed, and as long as zombies are left.
func (r *reaper) run() {
	defer close(r.joined)
	var seen map[int]bool
	for {
		if len(seen) == 0 {
			select {
			case <-r.signals:
			case <-r.done:
				return
			}
		}
		select {
		case <-time.After(r.pause):
		case <-r.done:
			return
		}
		seen = r.look(seen)
	}
}

// look waits for the zombies that were seen before and returns those that are left.
func (r *reaper) look(before map[int]bool) map[int]bool {
	zombies := r.zombies()
	if len(zombies) == 0 {
		return nil
	}
	held := heldPIDs()
	left := map[int]bool{}
	for outer, pid := range zombies {
		if !before[pid] || held[outer] {
			left[pid] = true
			continue
		}
		// It fails if the author's code has waited in the meantime, which is as well.
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
	return left
}

// zombies maps the zombie children's pids in /proc's numbering to those in ours.
func (r *reaper) zombies() map[string]int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	found := map[string]int{}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may hold anything; state and parent come after the last one.
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		if len(fields) < 2 || string(fields[0]) != "Z" || string(fields[1]) != r.selfPID {
			continue
		}
		outer := filepath.Base(filepath.Dir(path))
		if pids := nsPIDs("/proc/" + outer + "/status"); r.level >= 0 && len(pids) > r.level {
			found[outer] = pids[r.level]
		}
	}
	return found
}

// nsPIDs reads the NSpid line of a status file: a process's numbers, from /proc's namespace inwards.
func nsPIDs(path string) []int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(raw)) {
		list, ok := strings.CutPrefix(line, "NSpid:")
		if !ok {
			continue
		}
		var pids []int
		for _, field := range strings.Fields(list) {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil
			}
			pids = append(pids, n)
		}
		return pids
	}
	return nil
}

// heldPIDs are the processes, in /proc's numbering, of which this one holds a pidfd.
func heldPIDs() map[string]bool {
	held := map[string]bool{}
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		return held
	}
	for _, path := range infos {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // closed in the meantime
		}
		for line := range strings.Lines(string(raw)) {
			if pid, ok := strings.CutPrefix(line, "Pid:"); ok {
				held[strings.TrimSpace(pid)] = true
			}
		}
	}
	return held
}
