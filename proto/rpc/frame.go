package rpc

import (
	"encoding/binary"
	"fmt"
)

// The kinds of frames (RFC 9113, section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9
)

// The flags; ack and end of the stream are one bit.
const (
	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// The error codes that are sent or understood (section 7).
const (
	codeNone        = 0x0
	codeProtocol    = 0x1
	codeFlowControl = 0x3
	codeFrameSize   = 0x6
	codeRefused     = 0x7
	codeCancel      = 0x8
	codeCalm        = 0xb
)

// The settings (section 6.5.2).
const (
	settingPush       = 0x2
	settingStreams    = 0x3
	settingWindow     = 0x4
	settingFrameSize  = 0x5
	settingHeaderList = 0x6
)

const (
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	headSize    = 9 // bytes of a frame's head
	prefixSize  = 5 // bytes before a message (gRPC)
	maxWindow   = 1<<31 - 1
	firstWindow = 1<<16 - 1 // before the peer says otherwise
	firstFrame  = 1 << 14   // the same; all that other implementations send
)

// head is a frame's head.
type head struct {
	size   int
	kind   uint8
	flags  uint8
	stream uint32
}

func parseHead(b []byte) head {
	return head{
		size: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), kind: b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & maxWindow,
	}
}

func (h head) append(b []byte) []byte {
	b = append(b, byte(h.size>>16), byte(h.size>>8), byte(h.size), h.kind, h.flags)
	return binary.BigEndian.AppendUint32(b, h.stream)
}

func (h head) has(flag uint8) bool { return h.flags&flag != 0 }

// appendWord appends a frame whose payload is one number: a window's growth, or why a stream ends.
func appendWord(b []byte, kind uint8, stream, value uint32) []byte {
	b = head{size: 4, kind: kind, stream: stream}.append(b)
	return binary.BigEndian.AppendUint32(b, value)
}

// setting is one of a settings frame.
type setting struct {
	id    uint16
	value uint32
}

func appendSettings(b []byte, settings ...setting) []byte {
	b = head{size: 6 * len(settings), kind: frameSettings}.append(b)
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, s.id)
		b = binary.BigEndian.AppendUint32(b, s.value)
	}
	return b
}

// unpad strips the padding that DATA and HEADERS may have.
func (h head) unpad(payload []byte) ([]byte, error) {
	if !h.has(flagPadded) {
		return payload, nil
	}
	if len(payload) == 0 || int(payload[0]) >= len(payload) {
		return nil, broke(codeProtocol, "padding is longer than its frame")
	}
	return payload[1 : len(payload)-int(payload[0])], nil
}

// breach is what a peer did against the protocol. It ends the connection.
type breach struct {
	code uint32
	text string
}

func broke(code uint32, format string, args ...any) error {
	return &breach{code, fmt.Sprintf(format, args...)}
}

func (e *breach) Error() string { return "rpc: the peer broke the protocol: " + e.text }
