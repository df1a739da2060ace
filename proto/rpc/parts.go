package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxParts is how many parts a message may have that is the whole answer of an RPC. A part takes two bytes on the wire and some hundred
// in memory, so a limit of bytes alone says little of what a message costs (H3).
const maxParts = 100_000

// Parts counts the embedded messages and the elements of repeated texts and bytes in data, which is an encoded message of a type, and
// stops once there are more than most. What is no such message has the parts before its fault.
func Parts(data []byte, of protoreflect.MessageDescriptor, most int) (count int) {
	fields := of.Fields()
	for len(data) > 0 && count <= most {
		number, kind, n := protowire.ConsumeField(data)
		if n < 0 {
			return count
		}
		if f := fields.ByNumber(number); kind == protowire.BytesType && f != nil {
			if of := f.Message(); of != nil {
				_, _, tag := protowire.ConsumeTag(data)
				text, _ := protowire.ConsumeBytes(data[tag:])
				count += 1 + Parts(text, of, most-count-1)
			} else if f.IsList() {
				count++
			}
		}
		data = data[n:]
	}
	return count
}
