//go:build !linux

package main

import "runtime"

// machine says what the system offers to keep plugins apart.
func machine() []finding {
	return []finding{
		{Name: "system", State: fine, Detail: runtime.GOOS + "/" + runtime.GOARCH},
		{Name: "sandbox", State: note, Detail: "profile default is like none here: process group and lifeline only"},
	}
}
