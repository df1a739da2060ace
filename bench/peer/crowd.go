package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/host"
)

// Crowd is a host of many plugins, each with many tools, all of them running. It is a process of its own, so that the
// heaps of hosts of different sizes are apart.
type Crowd struct {
	Plugin  string // the binary
	State   string // the state directory
	Plugins int
	Tools   int  // of each plugin
	Spread  bool // calls go to every tool in turn; else to one in the middle
}

// CrowdArgument is the first argument of a process that is a crowd: [ServeCrowd].
const CrowdArgument = "crowd"

// Kind starts this program again as the crowd's process.
func (c Crowd) Kind(name string) Kind {
	return Kind{name, func() (Peer, error) {
		text, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self, CrowdArgument, string(text))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		p := &crowded{cmd, in, json.NewDecoder(out)}
		var ready bool
		if err := p.out.Decode(&ready); err != nil {
			p.Close()
			return nil, fmt.Errorf("the process of the crowd: %w", err)
		}
		return p, nil
	}}
}

type crowded struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func (p *crowded) Load(inFlight int, d time.Duration) (measure.Sample, error) {
	var s measure.Sample
	if _, err := fmt.Fprintf(p.in, "%d %d\n", inFlight, d.Milliseconds()); err != nil {
		return s, err
	}
	err := p.out.Decode(&s)
	return s, err
}

func (p *crowded) Close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// ServeCrowd is the crowd's process: it opens the host that text describes, starts every plugin with a call, and makes calls on
// command until stdin ends.
func ServeCrowd(text string, in io.Reader, out io.Writer) error {
	var c Crowd
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	cfg := host.Config{StateDir: c.State, Eager: true}
	for i := range c.Plugins {
		cfg.Plugins = append(cfg.Plugins, host.Plugin{Name: fmt.Sprintf("weather-%03d", i), Path: c.Plugin, Args: []string{strconv.Itoa(c.Tools)},
			Sandbox: host.Sandbox{Profile: host.ProfileNone}})
	}
	h, err := host.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	r, err := c.ready(h)
	if err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	if err := answers.Encode(true); err != nil {
		return err
	}
	for commands := bufio.NewScanner(in); commands.Scan(); {
		var inFlight, millis int
		if _, err := fmt.Sscan(commands.Text(), &inFlight, &millis); err != nil {
			return err
		}
		s, err := r.load(inFlight, time.Duration(millis)*time.Millisecond)
		if err != nil {
			return err
		}
		if err := answers.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// caller makes the calls of a crowd.
type caller struct {
	host  *host.Host
	names []string // of the tools that are called in turn
	pids  []int    // of this process and of the plugins that are called
	next  atomic.Uint64
}

// ready calls every tool once, so that every plugin runs, and chooses what is called from then on.
func (c Crowd) ready(h *host.Host) (*caller, error) {
	r := &caller{host: h, pids: []int{os.Getpid()}}
	var all []string
	for t := range h.Tools() {
		all = append(all, t.Plugin+"/"+t.ID)
	}
	if len(all) != c.Plugins*c.Tools {
		return nil, fmt.Errorf("%d tools instead of %d", len(all), c.Plugins*c.Tools)
	}
	r.names = all
	for range all {
		if err := r.call(); err != nil {
			return nil, err
		}
	}
	if !c.Spread {
		r.names = all[len(all)/2 : len(all)/2+1]
	}
	i := 0
	for p := range h.Plugins() {
		if c.Spread || i == c.Plugins/2 {
			r.pids = append(r.pids, p.PID)
		}
		i++
	}
	return r, nil
}

func (r *caller) call() error {
	name := r.names[r.next.Add(1)%uint64(len(r.names))]
	_, err := r.host.Call(context.Background(), host.Call{Tool: name, Input: json.RawMessage(weather.Input)})
	return err
}

// load counts the CPU time of the host and of the plugins that are called. To look at a hundred processes takes a while: it is not
// counted, since the host's time is read last before and first after.
func (r *caller) load(inFlight int, d time.Duration) (measure.Sample, error) {
	used := func() (sum time.Duration) {
		for _, pid := range r.pids[1:] {
			sum += measure.CPU(pid)
		}
		return sum
	}
	before := used()
	before += measure.Own(r.pids[0])
	times, err := measure.Load(inFlight, d, r.call)
	after := measure.Own(r.pids[0])
	after += used()
	return times.Sample(after - before), err
}
