// Package pluginsdk is the author's side of toolhost: a tool is a function with
// a name, and a program whose main function is [Serve] is a plugin.
//
//	func main() {
//		pluginsdk.Serve(pluginsdk.Tool[In, Out]{
//			ID:          "greet",
//			Description: "Greets somebody by name.",
//			Execute: func(ctx context.Context, call *pluginsdk.Call, in In) (Out, error) {
//				return Out{Text: "Hello, " + in.Name}, nil
//			},
//		})
//	}
//
// # What the plugin does and what the host does
//
// A plugin runs the author's functions and nothing else. The host that starts it
// parses, repairs and validates the input, asks for approvals, keeps deadlines,
// validates the output and decides who sees it. So Execute gets an input that
// fits the input schema, and a tool need not check it again.
// What people see of a call is the author's to say with [Transform]: by rules that the host
// applies, or by functions that run here.
//
// # Schemas
//
// The input and output schemas are inferred from In and Out as encoding/json
// reads and writes them, with the tags of github.com/invopop/jsonschema:
//
//	type In struct {
//		City string `json:"city" jsonschema:"minLength=1" jsonschema_description:"A city, such as Berlin"`
//		Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=16,default=3"`
//	}
//
// A field is required unless its tag says omitempty or omitzero, or it is a
// pointer. Names that are not listed are refused. A tag with a word that is no
// keyword refuses the tool, and so does the rest of a text behind a comma: a
// comma within a value is written \\, there.
//
// # Questions
//
// A tool that runs may ask its caller: a form for a person with [Call.Elicit], several questions at once with
// [Call.ElicitAll], a message of the caller's model with [Call.Sample], its roots with [Call.Roots]. The call's time stands
// still meanwhile. A caller that cannot answer declines, and the tool decides what that means. A question whose
// answer may take days is a suspension: [Call.Suspend].
//
// # Processes
//
// Many calls run at once in one process, each in a goroutine that does nothing else meanwhile. It may run
// other calls before and after, and read what the host sends: what a function ties to its goroutine, such as a
// thread ([runtime.LockOSThread]), it unties before it returns. A panic
// in an author's function ends that call; a panic in a goroutine that the author
// started ends the process. Prints to stdout and stderr reach the host's log;
// [Call.Logger] is better, because its records belong to the call.
//
// The process ends when the host closes its standard input or sends SIGTERM:
// every call's context is cancelled, and after at most one second the process
// exits. SIGINT is ignored, because Ctrl-C in a terminal is for the host. As
// process 1 of a pid namespace the process reaps orphans.
package pluginsdk
