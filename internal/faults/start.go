//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/proto/wire"
)

// starts are the ways in which a plugin never becomes ready.
func starts() []fault {
	return []fault{
		started("start-exit", "exits with status 3 when it is started", func() {
			fmt.Fprintln(os.Stderr, "evil: no licence")
			os.Exit(3)
		}),
		started("start-panic", "panics when it is started", func() { panic("evil: at the start") }),
		started("no-handshake", "never prints its handshake", func() {}),
		started("garbage-handshake", "prints a handshake with a certificate and a network that nobody asked for", func() {
			fmt.Println("1|1|tcp|127.0.0.1:1|grpc|MIIB-evil")
		}),
		started("silent-handshake", "prints its handshake and serves nothing", func() { fmt.Print(handshake) }),
		started("flood-handshake", "prints 16 MiB in place of its handshake", func() {
			line := append(bytes.Repeat([]byte("evil flood "), 93), '\n')
			for range 16 << 10 {
				if _, err := os.Stdout.Write(line); err != nil {
					return
				}
			}
		}),
	}
}

// handshake is the line of a plugin that serves the inherited connection.
var handshake = fmt.Sprintf("1|%d|unix|inherited|grpc\n", wire.Version)

// started is a fault that is committed at the start. What does not end there ends with the lifeline.
func started(name, does string, do func()) fault {
	return fault{name: name, does: does, main: func(string) {
		if !underHost(name, does) {
			return
		}
		do()
		awaitEnd()
	}}
}

// awaitEnd returns when the host closes the lifeline, or is gone.
func awaitEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }

// underHost reports whether a host started this process. If not, it says what the plugin is: by hand none of
// them is evil. Another host's plugin it is not.
func underHost(name, does string) bool {
	cookie, ok := os.LookupEnv(wire.CookieKey)
	if cookie == wire.CookieValue {
		return true
	}
	fmt.Printf("%s is a hostile plugin for tests of a host: it %s.\n", name, does)
	if ok {
		os.Exit(1)
	}
	return false
}
