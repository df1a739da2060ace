package pluginsdk

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// sdkVersion names this SDK to hosts.
const sdkVersion = "toolhost-go/0.1.0"

// newManifest returns a manifest without tools.
func newManifest() *pb.Manifest {
	m := &pb.Manifest{Role: pb.Role_ROLE_TOOLS, Sdk: sdkVersion}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		m.Version = info.Main.Version
	}
	return m
}

// describe writes a manifest for people and scripts: the names of the .proto in JSON's
// spelling, schemas as JSON rather than bytes, and the hash that a host compares.
func describe(m *manifest) ([]byte, error) {
	body, err := messageJSON(m.pb.ProtoReflect())
	if err != nil {
		return nil, err
	}
	hash, err := json.Marshal(hex.EncodeToString(m.hash))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, object([]member{{"hash", hash}, {"manifest", body}}), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// member is one name of a JSON object.
type member struct {
	name  string
	value []byte
}

// object writes members in their order.
func object(members []member) []byte {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(m.name) // a string always has a JSON form
		out = append(append(append(out, name...), ':'), m.value...)
	}
	return append(out, '}')
}

func messageJSON(m protoreflect.Message) ([]byte, error) {
	var members []member
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if !m.Has(fd) {
			continue
		}
		var raw []byte
		var err error
		if fd.IsList() {
			raw, err = listJSON(fd, m.Get(fd).List())
		} else {
			raw, err = valueJSON(fd, m.Get(fd))
		}
		if err != nil {
			return nil, err
		}
		members = append(members, member{fd.JSONName(), raw})
	}
	return object(members), nil
}

func listJSON(fd protoreflect.FieldDescriptor, list protoreflect.List) ([]byte, error) {
	items := make([]json.RawMessage, list.Len())
	for i := range items {
		raw, err := valueJSON(fd, list.Get(i))
		if err != nil {
			return nil, err
		}
		items[i] = raw
	}
	return encode(items)
}

func valueJSON(fd protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return messageJSON(v.Message())
	case protoreflect.EnumKind:
		if value := fd.Enum().Values().ByNumber(v.Enum()); value != nil {
			return encode(string(value.Name()))
		}
		return encode(int32(v.Enum()))
	case protoreflect.BytesKind: // every one of the manifest's holds JSON
		return encode(json.RawMessage(v.Bytes()))
	}
	return encode(v.Interface())
}
