//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// census is what a host process holds at one moment.
type census struct {
	goroutines int
	fds        int
	sockets    int // of fds
	children   int // alive
	zombies    int // dead children that nobody waited for
	heap       int // MiB in use after a collection
	rss        int // MiB
	files      int // in the state directory
	filesMiB   int
}

// takeCensus counts. It collects garbage first, so it is not for the middle of a measurement.
func takeCensus(stateDir string) census {
	debug.FreeOSMemory()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	c := census{goroutines: runtime.NumGoroutine(), heap: int(mem.HeapAlloc >> 20), rss: residentMiB()}
	c.fds, c.sockets = descriptors()
	for _, p := range processes() {
		switch {
		case p.parent != os.Getpid():
		case p.state == "Z":
			c.zombies++
		default:
			c.children++
		}
	}
	size := int64(0)
	_ = filepath.WalkDir(stateDir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			c.files++
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // a file that goes while we look is no fault
	})
	c.filesMiB = int(size >> 20)
	return c
}

// settled takes a census until good is content with it, or the patience is over, and returns the last one.
func settled(stateDir string, patience time.Duration, good func(census) bool) census {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		c := takeCensus(stateDir)
		if good(c) || time.Now().After(end) {
			return c
		}
	}
}

// within reports whether c holds no more than before did, memory aside.
func (c census) within(before census) bool {
	return c.goroutines <= before.goroutines && c.fds <= before.fds && c.sockets <= before.sockets &&
		c.children <= before.children && c.zombies <= before.zombies
}

// descriptors counts the open descriptors of this process but the one that counts.
func descriptors() (all, sockets int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue
		}
		all++
		if strings.HasPrefix(target, "socket:") {
			sockets++
		}
	}
	return all, sockets
}

func residentMiB() int {
	data, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(data))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(f[1])
	return pages * os.Getpagesize() >> 20
}

// osProcess is one line of the process table.
type osProcess struct {
	pid, parent int
	state       string // one letter
}

// processes reads the process table.
func processes() (all []osProcess) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(f) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(f[1])
		all = append(all, osProcess{pid, parent, f[0]})
	}
	return all
}

// marked lists the processes whose command line has the mark as an argument. Dead ones that wait for their parent
// have no command line.
func marked(mark string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		for _, arg := range bytes.Split(line, []byte{0}) {
			if string(arg) == mark {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
