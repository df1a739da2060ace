// Package project says what MCP clients see of a host's tools and of their results: under which name a tool is exported, with
// which schemas, and which content a result has, in either era of the protocol, so that nothing of a tool breaks a list or a
// result for an older client. All of it is pure: every function may be called concurrently.
package project
