//go:build unix

package fetch

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is the processor time this process has used: unlike the wall's it does not grow with the load of
// the machine.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
