package pluginsdk

import (
	"errors"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Refuse is a tool that [Registry.Set] refuses because of err: for a plugin that has its tools from elsewhere and cannot
// serve one of them. The host lists it under id among the plugin's bad tools, with the text of err, and its siblings are
// set all the same. An err of nil says nothing more than that.
func Refuse(id string, err error) Definition {
	if err == nil {
		err = errors.New("refused")
	}
	return refused{id, err}
}

// refused is a definition that does not compile.
type refused struct {
	id  string
	err error
}

func (r refused) compile() (*tool, error) { return &tool{def: &pb.Tool{Id: r.id}}, r.err }
