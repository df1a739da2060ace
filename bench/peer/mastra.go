package peer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
)

// Mastra is @mastra/mcp's client over stdio with the TypeScript SDK 2 server, run by Node in a directory. It makes the calls
// itself, on command.
func Mastra(node, dir string) Kind {
	return Kind{"@mastra/mcp, stdio", func() (Peer, error) {
		cmd := exec.Command(node, "mastra.mjs")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		in, out, err := startPiped(cmd)
		if err != nil {
			return nil, err
		}
		m := &mastra{cmd: cmd, in: in, out: bufio.NewReader(out)}
		if line, err := m.out.ReadString('\n'); err != nil || line != "ready\n" {
			m.Close()
			return nil, fmt.Errorf("@mastra/mcp: it said %q: %w", line, err)
		}
		return m, nil
	}}
}

type mastra struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Load has the process make the calls; its CPU time and its server's are counted.
func (m *mastra) Load(inFlight int, d time.Duration) (measure.Sample, error) {
	before := measure.CPU(m.cmd.Process.Pid)
	if _, err := fmt.Fprintf(m.in, "{\"inFlight\":%d,\"ms\":%d}\n", inFlight, d.Milliseconds()); err != nil {
		return measure.Sample{}, err
	}
	line, err := m.out.ReadBytes('\n')
	if err != nil {
		return measure.Sample{}, fmt.Errorf("@mastra/mcp: it ended: %w", err)
	}
	var said struct {
		Seconds float64 `json:"seconds"`
		Times   []int64 `json:"times"` // microseconds
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return measure.Sample{}, err
	}
	t := measure.Times{Elapsed: time.Duration(said.Seconds * float64(time.Second))}
	for _, us := range said.Times {
		t.Each = append(t.Each, time.Duration(us)*time.Microsecond)
	}
	return t.Sample(measure.CPU(m.cmd.Process.Pid) - before), nil
}

func (m *mastra) Close() {
	_ = m.in.Close()
	_ = m.cmd.Wait()
}
