package host

import (
	"encoding/json"
	"time"
)

// Tool is what is known of one callable tool. It is a value: changing it changes nothing.
// JSON members are those of the list and describe commands.
type Tool struct {
	Name        string `json:"name"`   // how to call it: the id, or an alias from Config.Tools, or plugin/id if another plugin holds the id
	Plugin      string `json:"plugin"` // the plugin's name
	ID          string `json:"id"`     // the id that the plugin gave it
	Title       string `json:"title"`
	Description string `json:"description"`

	InputSchema          json.RawMessage `json:"inputSchema"`                    // never nil: an open object if the tool gave none
	OutputSchema         json.RawMessage `json:"outputSchema"`                   // null: outputs are not checked
	SuspendSchema        json.RawMessage `json:"suspendSchema,omitempty"`        // of what a suspension shows
	ResumeSchema         json.RawMessage `json:"resumeSchema,omitempty"`         // of the data that resumes it
	RequestContextSchema json.RawMessage `json:"requestContextSchema,omitempty"` // its top-level keys are what the tool sees of Call.Context

	Annotations Annotations       `json:"annotations"`
	Meta        json.RawMessage   `json:"_meta,omitempty"`
	Icons       json.RawMessage   `json:"icons,omitempty"`
	Extra       json.RawMessage   `json:"extra,omitempty"` // JSON object: further members that MCP lists for the tool; those that it has itself win
	Strict      *bool             `json:"strict,omitempty"`
	Examples    []json.RawMessage `json:"inputExamples,omitempty"`
	Provider    json.RawMessage   `json:"providerOptions,omitempty"`
	Background  json.RawMessage   `json:"background,omitempty"`

	Timeout         time.Duration `json:"timeoutNs,omitempty"`       // zero: Limits.Call
	NoRepairs       []string      `json:"noRepairs,omitempty"`       // kinds of input repair that it does not want
	WantsMessages   bool          `json:"wantsMessages,omitempty"`   // it asks for the conversation (Plugin.Grant)
	MaxConcurrency  int           `json:"maxConcurrency,omitempty"`  // zero: no limit
	OutputMode      OutputMode    `json:"outputMode"`                // what happens to an output that breaks OutputSchema
	RequireApproval bool          `json:"requireApproval,omitempty"` // every call asks
	Idempotent      bool          `json:"idempotent,omitempty"`      // its own word; believed only of trusted plugins
	Callbacks       []string      `json:"callbacks,omitempty"`       // the author's functions that the host calls, such as "onInputDelta"
	Views           []string      `json:"views,omitempty"`           // such as "display output-available: rules"

	Findings []Finding `json:"findings,omitempty"` // what in its definition may speak to the model (T16)
}

// Annotations are MCP's hints about a tool. A nil pointer says nothing. They are the plugin's own word.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// OutputMode says what happens to an output that breaks the output schema.
type OutputMode int

// The modes.
const (
	OutputReject OutputMode = iota // the call fails with InvalidOutput; the error holds the output
	OutputWarn                     // the call succeeds with a warning
	OutputOff                      // outputs are not checked
)

var outputModeWords = [...]string{"reject", "warn", "off"}

// String returns the mode's word.
func (m OutputMode) String() string { return word(outputModeWords[:], int(m)) }

// MarshalText returns String.
func (m OutputMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
