//go:build race

package partialjson

const raceEnabled = true
