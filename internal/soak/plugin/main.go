//go:build linux

// Command plugin is the plugin that make soak loads, kills, stops and replaces. Each of its copies is a program of its
// own: what is appended to the binary tells them apart.
package main

import "github.com/toolhost/toolhost/internal/soak/subject"

func main() { subject.Main() }
