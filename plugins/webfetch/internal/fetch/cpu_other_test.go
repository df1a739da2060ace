//go:build !unix

package fetch

import (
	"testing"
	"time"
)

var testStart = time.Now()

// cpuTime is the wall's time here.
func cpuTime(testing.TB) time.Duration { return time.Since(testStart) }
