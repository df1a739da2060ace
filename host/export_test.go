package host

import pb "github.com/toolhost/toolhost/proto/toolplugin/v1"

// FlushWait is flushWait.
const FlushWait = flushWait

// Visible is ModelOutput.visible.
func Visible(m ModelOutput) (ModelOutput, int) { return m.visible() }

// CheckPluginPlace is checkPlace.
var CheckPluginPlace = checkPlace

// ReadManifest is newManifest of a plugin of which nothing else is known.
func ReadManifest(m *pb.Manifest) (tools []string, bad []BadTool, err error) {
	read, err := newManifest(&plugin{cfg: Plugin{Name: "hostile"}}, m, false)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range read.tools {
		tools = append(tools, e.tool.ID)
	}
	return tools, read.bad, nil
}

// PanicOverManifest is newManifest where every tool's definition makes it panic.
func PanicOverManifest(m *pb.Manifest) (bad []BadTool, err error) {
	read, err := newManifest(nil, m, false)
	if err != nil {
		return nil, err
	}
	return read.bad, nil
}

// Unlist is the moment in which what plugins registered is not listed yet.
func (h *Host) Unlist() { h.registry.Store(newRegistry(nil, nil, nil)) }
