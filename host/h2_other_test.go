//go:build unix && !linux

package host_test

// serveH2 is for the tests of Linux.
func serveH2(string) {}
