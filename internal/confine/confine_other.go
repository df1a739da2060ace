//go:build !linux

package confine

// Main refuses: there are no sandboxes on this system yet.
func Main([]string) int {
	println(Name + ": only on Linux")
	return Status
}
