package main

import (
	"os"
	"os/user"
	"strconv"

	"github.com/toolhost/toolhost/host"
)

// channel is how calls of the command line come. It is none on which a model speaks (T28, T33).
const channel = "terminal"

// caller is who uses the command line: the operating system's word, which no flag and no input changes (T36).
func caller() host.Caller {
	c := host.Caller{Channel: channel, Subject: strconv.Itoa(os.Getuid())}
	if u, err := user.Current(); err == nil && u.Username != "" {
		c.Subject = u.Username
	}
	return c
}
