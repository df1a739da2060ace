//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usage is what has been used of the processors so far.
type usage struct {
	at        time.Time
	all, ours float64 // seconds
}

// ticks is how many of the kernel's clock ticks are a second, on every Linux that Go runs on.
const ticks = 100

// usageNow reads what the machine and, of that, this process with its children, living and waited for, have used.
func usageNow() usage {
	u := usage{at: time.Now()}
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, f := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal guest guest_nice
		if n, err := strconv.ParseFloat(f, 64); err == nil && i < 9 && i != 4 && i != 5 {
			u.all += n / ticks
		}
	}
	u.ours = used(os.Getpid())
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			u.ours += used(p.pid)
		}
	}
	return u
}

// used is the processor time of a process and of the children that it waited for.
func used(pid int) (seconds float64) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from state, the third field
	const utime, cstime = 14 - 3, 17 - 3
	if len(f) <= cstime {
		return 0
	}
	for _, v := range f[utime : cstime+1] {
		n, _ := strconv.ParseFloat(v, 64)
		seconds += n / ticks
	}
	return seconds
}

// since says what was used from before until now, of all cores.
func (u usage) since(before usage) string {
	per := func(seconds float64) float64 {
		return 100 * seconds / (u.at.Sub(before.at).Seconds() * float64(runtime.NumCPU()))
	}
	ours := u.ours - before.ours
	return fmt.Sprintf("processors: %.0f%% used by the soak and its plugins, %.0f%% by others", per(ours), max(0, per(u.all-before.all-ours)))
}
