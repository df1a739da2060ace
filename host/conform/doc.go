// Package conform holds a built plugin to what a host expects of it (A3): it runs the binary through the real host,
// as a real process, and reports check by check. It knows nothing of the SDK: a plugin in any language will do.
//
// The checks, in their order:
//
//	by-hand    run without a host it ends by itself and says what it is; with another host's cookie it refuses
//	start      it starts, shakes hands and describes itself in time
//	manifest   it describes itself the same at every start; no tool is refused
//	call       every tool answers a plain call, as its output schema says
//	noise      its output is bounded, and a host that reads its log slowly is served all the same
//	panic      inputs at the edges of the schemas, and the tools' own failures, leave the process alive
//	slow       a call with hardly any time ends in time, and the process still answers
//	huge       an input at the limit of size is survived
//	cancel     a cancelled call ends in the plugin too, and the next one is answered
//	hard-kill  after SIGKILL in the middle of calls every call has an outcome, and the next one works
//	stop       it ends by itself when it is told to, and leaves no process
//	leak       hundreds of calls leave no descriptors, threads, processes or memory behind
//
// # What is called
//
// A tool is called if its annotations say that it is read-only or idempotent and do not say that it reaches an open
// world; if Config.Calls has an input for it; or if Config.Unsafe says so for all. Inputs are those of Config.Calls,
// else the tool's examples, else made from its schema. A tool that is in Config.Calls and not safe by its annotations is called
// with those inputs only. What was not called is said, with the reason.
package conform
