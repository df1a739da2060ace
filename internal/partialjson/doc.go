// Package partialjson reads a JSON text that is still being written, and says at any moment what it is worth so far as
// valid JSON: the arguments of a tool call while the model writes them.
//
// What is certain stays: every string is the beginning of the final one, and there is no member that the final value lacks. Only an open
// number and an open word are guesses: 12 may become 123, and "tru" is completed to true.
//
// The text must be JSON from its first byte on. A text that needs repair ends in an error, and its reader stays at what
// was good.
package partialjson
