package main

// settings are one block of what people have as mcpServers: a command, or a URL.
type settings struct {
	Type    string            `json:"type,omitempty" jsonschema:"description=stdio or http (also streamable-http); follows from command or url"`
	Command string            `json:"command,omitempty" jsonschema:"description=the program that speaks MCP on its standard streams"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"description=variables of that program and of nothing else"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty" jsonschema:"description=the endpoint of a server that speaks streamable HTTP"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"description=headers of every request such as Authorization"`
	Era     string            `json:"era,omitempty" jsonschema:"enum=auto,enum=legacy,enum=modern,description=the protocol era; auto asks the server"`
	Timeout string            `json:"timeout,omitempty" jsonschema:"description=how long connecting and listing may take such as 20s"`
}
