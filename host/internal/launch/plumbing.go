package launch

import (
	"os"

	"github.com/toolhost/toolhost/proto/inherit"
	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/wire"
)

// plumbing is the descriptors between the host and one plugin.
type plumbing struct {
	lifeline       *os.File         // the host's end of stdin: nothing but loop's line is written to it
	stdout, stderr *os.File         // the host's ends
	ends           *inherit.Ends    // become the connection; nil with loop
	loop           *loopback.Dialer // makes the connection; nil where it is inherited
	connEnv        string           // the descriptor's number in the child, or wire.ConnLoopback
	connOutEnv     string           // that of the one it may write to; empty with loop
	files          []*os.File
}

// newPlumbing makes everything or nothing. Every descriptor closes on exec. With overLoopback
// the child inherits no connection: it is to listen for one.
func newPlumbing(overLoopback bool) (*plumbing, error) {
	p := &plumbing{}
	fail := func(err error) (*plumbing, error) {
		p.closeChild()
		p.closeHost()
		return nil, err
	}
	stdin, lifeline, err := lifelinePipe()
	if err != nil {
		return fail(err)
	}
	p.lifeline, p.files = lifeline, append(p.files, stdin)
	for _, end := range []**os.File{&p.stdout, &p.stderr} {
		r, w, err := outputPipe()
		if err != nil {
			return fail(err)
		}
		*end, p.files = r, append(p.files, w)
	}
	join := p.offer
	if overLoopback {
		join = p.invite
	}
	if err := join(); err != nil {
		return fail(err)
	}
	return p, nil
}

// invite prepares the connection over loopback: the child finds in its lifeline what
// only the two of them know.
func (p *plumbing) invite() error {
	var err error
	if p.loop, err = loopback.NewDialer(); err != nil {
		return err
	}
	p.connEnv = wire.ConnLoopback
	_, err = p.lifeline.Write(p.loop.Line()) // the pipe is empty, and has room for it
	return err
}

// child is the child's descriptors from 0 on.
func (p *plumbing) child() []*os.File { return p.files }

// closeChild closes the child's ends in the host.
func (p *plumbing) closeChild() {
	for _, f := range p.files {
		f.Close()
	}
	p.files = nil
}

// closeHost closes the host's ends.
func (p *plumbing) closeHost() {
	for _, f := range []*os.File{p.lifeline, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
	p.ends.Close()
}
