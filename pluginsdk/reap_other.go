//go:build !linux

package pluginsdk

type reaper struct{}

// startReaper does nothing: only Linux makes a plugin process 1.
func startReaper() *reaper { return nil }

func (*reaper) stop() {}
