// Package scan looks for text in tool definitions and results that is meant for a model and not for the people
// who read it. It is pure: no I/O, no clock, no state.
//
// [Scan] reads every string of a definition by fixed rules (T16); [StripJSON] takes out of a result what nobody
// can see (T17); [Skeletons] says which names look alike (T18).
//
// The honest limit: only what cannot be seen is found reliably. Wording cannot be scanned. An instruction in
// other words, in another language, spelled with spaces, or spread over several strings passes, and an ordinary
// text may have a finding. A definition without findings is not safe, it is not obviously hostile: it is the
// policy and the approvals that restrain a tool, whatever its description says.
package scan
