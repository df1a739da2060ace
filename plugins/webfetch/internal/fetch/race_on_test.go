//go:build race

package fetch

// raceOn says that the race detector slows this test binary down about ten times.
const raceOn = true
