package peer

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// GoSDKHTTP is the MCP Go SDK's client over streamable HTTP, with the server that command starts. The server says on stderr where
// it serves: "serving MCP at URL".
func GoSDKHTTP(name string, command ...string) Kind {
	return Kind{name, func() (Peer, error) {
		cmd := exec.Command(command[0], command[1:]...)
		said, err := cmd.StderrPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		end := func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
		url, err := address(said)
		if err != nil {
			end()
			return nil, fmt.Errorf("%v: %w", cmd, err)
		}
		// As many connections as there are calls: by default two of them are kept, and the others made anew for each call.
		p, err := sdk(&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}})
		if err != nil {
			end()
			return nil, err
		}
		closing := p.(*local).end
		p.(*local).end = func() {
			closing()
			end()
		}
		return p, nil
	}}
}

// address reads the line that has the URL; what follows is not kept.
func address(said io.Reader) (string, error) {
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if _, url, ok := strings.Cut(strings.TrimSpace(line), "serving MCP at "); ok {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the server
			return url, nil
		}
		if err != nil {
			return "", err
		}
	}
}
