//go:build !unix

package inherit

import (
	"errors"
	"net"
	"os"
)

var errNone = errors.New("a process inherits no connection on this system")

// Ends do not exist here.
type Ends struct{}

// Offer always fails.
func Offer() (*Ends, []*os.File, error) { return nil, nil, errNone }

// OneWay always fails.
func (*Ends) OneWay() (net.Conn, error) { return nil, errNone }

// TwoWay always fails.
func (*Ends) TwoWay() (net.Conn, error) { return nil, errNone }

// Close does nothing.
func (*Ends) Close() {}

// Open always fails.
func Open(in, out int) (net.Conn, error) { return nil, errNone }
