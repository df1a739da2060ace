//go:build !linux

package state

import "errors"

// NoDump returns errors.ErrUnsupported: this system has no such call, or none
// that is known here (T57).
func NoDump() error { return errors.ErrUnsupported }
