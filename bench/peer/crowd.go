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

	"github.com/toolhost/toolhost/bench/bare"
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
	Bare    bool // there is no host: the plugins are bare ones, of one tool
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
		in, out, err := startPiped(cmd)
		if err != nil {
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

// ServeCrowd is the crowd's process: it starts every plugin that text describes with a call, and makes calls on command until stdin
// ends.
func ServeCrowd(text string, in io.Reader, out io.Writer) error {
	var c Crowd
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	r, end, err := c.open()
	defer end()
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
	calls []func() error // one for each tool; they are made in turn
	pids  []int          // of the plugins, and in the end of those that are called
	next  atomic.Uint64
}

// open starts the plugins, calls every tool once, and chooses what is called from then on. end ends what was started, also after an
// error.
func (c Crowd) open() (r *caller, end func(), err error) {
	r = new(caller)
	if c.Bare {
		end, err = c.openBare(r)
	} else {
		end, err = c.openHost(r)
	}
	if err != nil {
		return nil, end, err
	}
	if len(r.calls) != c.Plugins*c.Tools || len(r.pids) != c.Plugins {
		return nil, end, fmt.Errorf("%d tools in %d plugins instead of %d in %d", len(r.calls), len(r.pids), c.Plugins*c.Tools, c.Plugins)
	}
	if !c.Spread {
		r.calls, r.pids = r.calls[len(r.calls)/2:len(r.calls)/2+1], r.pids[c.Plugins/2:c.Plugins/2+1]
	}
	return r, end, nil
}

func (c Crowd) openHost(r *caller) (end func(), err error) {
	cfg := host.Config{StateDir: c.State, Eager: true}
	for i := range c.Plugins {
		cfg.Plugins = append(cfg.Plugins, host.Plugin{Name: fmt.Sprintf("weather-%03d", i), Path: c.Plugin, Args: []string{strconv.Itoa(c.Tools)},
			Sandbox: host.Sandbox{Profile: host.ProfileNone}})
	}
	h, err := host.Open(context.Background(), cfg)
	if err != nil {
		return func() {}, err
	}
	end = func() { _ = h.Close() }
	for p := range h.Plugins() {
		for _, id := range p.Tools {
			call := host.Call{Tool: p.Name + "/" + id, Input: json.RawMessage(weather.Input)}
			r.calls = append(r.calls, func() error {
				_, err := h.Call(context.Background(), call)
				return err
			})
			if err := r.calls[len(r.calls)-1](); err != nil {
				return end, err
			}
		}
	}
	for p := range h.Plugins() { // they run since they were called
		r.pids = append(r.pids, p.PID)
	}
	return end, nil
}

// openBare starts bare plugins, of one tool each.
func (c Crowd) openBare(r *caller) (end func(), err error) {
	var running []*bare.Running
	end = func() {
		for _, p := range running {
			p.Close()
		}
	}
	for range c.Plugins {
		p, err := bare.Start(c.Plugin)
		if err != nil {
			return end, err
		}
		running = append(running, p)
		call, err := Checked(weather.InSchema, weather.OutSchema, weather.Input, p.Call)
		if err != nil {
			return end, err
		}
		if err := call(); err != nil {
			return end, err
		}
		r.calls, r.pids = append(r.calls, call), append(r.pids, p.PID())
	}
	return end, nil
}

func (r *caller) call() error { return r.calls[r.next.Add(1)%uint64(len(r.calls))]() }

// load counts the CPU time of the host and of the plugins that are called. To look at a hundred processes takes a while: it is not
// counted, since the host's time is read last before and first after.
func (r *caller) load(inFlight int, d time.Duration) (measure.Sample, error) {
	used := func() (sum time.Duration) {
		for _, pid := range r.pids {
			sum += measure.Own(pid)
		}
		return sum
	}
	before := used()
	before += measure.Own(os.Getpid())
	times, err := measure.Load(inFlight, d, r.call)
	after := measure.Own(os.Getpid())
	after += used()
	return times.Sample(after - before), err
}
