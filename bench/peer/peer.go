// Package peer has the ways to call the weather tool that are compared: each a client in this process, or a process that makes calls
// on command, and a server in a process of its own.
package peer

import (
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
)

// Peer is one way to call the tool.
type Peer interface {
	// Load makes calls for a while, so many at once.
	Load(inFlight int, d time.Duration) (measure.Sample, error)
	Close()
}

// Kind is a peer that can be started.
type Kind struct {
	Name  string
	Start func() (Peer, error)
}

// Local is a kind whose client is in this process: start returns a function that makes one call, and one that ends it all.
func Local(name string, start func() (call func() error, end func(), err error)) Kind {
	return Kind{name, func() (Peer, error) {
		call, end, err := start()
		if err != nil {
			return nil, err
		}
		return &local{call, end}, nil
	}}
}

// local is a peer whose client is in this process.
type local struct {
	call func() error
	end  func()
}

// Load counts what the server costs, too: it is this process's child.
func (p *local) Load(inFlight int, d time.Duration) (measure.Sample, error) {
	before := measure.CPU(os.Getpid())
	times, err := measure.Load(inFlight, d, p.call)
	return times.Sample(measure.CPU(os.Getpid()) - before), err
}

func (p *local) Close() { p.end() }

// startPiped starts a process that makes calls on command: it reads from in and writes to out.
func startPiped(cmd *exec.Cmd) (in io.WriteCloser, out io.Reader, err error) {
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	return in, out, cmd.Start()
}
