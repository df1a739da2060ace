package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU is the CPU time that these processes and what descends from them have used, by the scheduler's own account. What a thread or
// process that is gone has used is not in it, so measure while they live.
func CPU(pids ...int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		for _, task := range tasks(pid) {
			sum += ran(task)
			if text, err := os.ReadFile(filepath.Join(task, "children")); err == nil {
				for _, child := range strings.Fields(string(text)) {
					if id, err := strconv.Atoi(child); err == nil {
						sum += CPU(id)
					}
				}
			}
		}
	}
	return sum
}

// Own is the CPU time that one process has used, without what descends from it.
func Own(pid int) time.Duration {
	var sum time.Duration
	for _, task := range tasks(pid) {
		sum += ran(task)
	}
	return sum
}

// tasks are the directories of a process's threads.
func tasks(pid int) []string {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	return all
}

// ran is how long a thread has run.
func ran(task string) time.Duration {
	text, err := os.ReadFile(filepath.Join(task, "schedstat"))
	if err != nil {
		return 0 // it is gone
	}
	used, _, _ := strings.Cut(string(text), " ")
	ns, _ := strconv.ParseInt(used, 10, 64)
	return time.Duration(ns)
}

// Private is the memory in bytes that a process shares with no other.
func Private(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	var sum int64
	for line := range strings.Lines(string(text)) {
		if name, rest, _ := strings.Cut(line, ":"); name == "Private_Clean" || name == "Private_Dirty" {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0, err
			}
			sum += kb << 10
		}
	}
	return sum, nil
}
