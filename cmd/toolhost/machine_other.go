//go:build !linux

package main

import "runtime"

// apart is what keeps plugins apart in profile default.
var apart = map[string]string{
	"darwin":  "profile default is like none here: a session, the lifeline and the environment list",
	"windows": "profile default: a job object that ends with the host, the lifeline and the environment list; settings memory and tasks",
}

// machine says what the system offers to keep plugins apart.
func machine() []finding {
	return []finding{
		{Name: "system", State: fine, Detail: runtime.GOOS + "/" + runtime.GOARCH},
		{Name: "sandbox", State: note, Detail: apart[runtime.GOOS]},
	}
}
