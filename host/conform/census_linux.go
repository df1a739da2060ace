package conform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// take counts what a process holds.
func take(pid int) (c census, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		return c, err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return c, err
	}
	c.fds, c.children = len(fds), len(children(pid))
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(f[1]) // 0 for what is no number
		switch f[0] {
		case "Threads:":
			c.threads = n
		case "VmRSS:":
			c.memory = int64(n) << 10
		}
	}
	return c, nil
}

// relative is a process that is told from others with the same id by its start.
type relative struct {
	pid   int
	start string
}

func (r relative) String() string { return strconv.Itoa(r.pid) }

// children lists the processes that pid has started, dead ones too.
func children(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is a good one
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// descendants lists the process and all that descend from it.
func descendants(pid int) (list []relative) {
	if _, start := look(pid); start != "" {
		list = append(list, relative{pid, start})
	}
	for _, child := range children(pid) {
		list = append(list, descendants(child)...)
	}
	return list
}

// alive returns those that still run.
func alive(list []relative) (left []relative) {
	for _, r := range list {
		if state, start := look(r.pid); start == r.start && state != "Z" && state != "X" {
			left = append(left, r)
		}
	}
	return left
}

// look returns a process's state and its time of start; empty if there is none.
func look(pid int) (state, start string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 20 {
		return "", ""
	}
	return string(f[0]), string(f[19])
}
