package rpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// protoMessage is a protobuf message as a [Message].
type protoMessage struct{ m proto.Message }

// Size implements [Message].
func (p protoMessage) Size() int { return proto.Size(p.m) }

// Append implements [Message].
func (p protoMessage) Append(b []byte) ([]byte, error) {
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, p.m)
}

func asProto(m any) (proto.Message, error) {
	p, ok := m.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "rpc: %T is no protobuf message", m)
	}
	return p, nil
}

func protoMessages(a, b any) (proto.Message, proto.Message, error) {
	first, err := asProto(a)
	if err != nil {
		return nil, nil, err
	}
	second, err := asProto(b)
	return first, second, err
}

func (s *Stream) sendProto(m any) error {
	p, err := asProto(m)
	if err != nil {
		return err
	}
	if err := s.c.checkSize(p); err != nil {
		return err
	}
	return s.Send(protoMessage{p})
}

// checkSize checks what is to be sent (M1).
func (c *conn) checkSize(m proto.Message) error {
	if size := proto.Size(m); size > c.limit {
		return status.Errorf(codes.ResourceExhausted, "rpc: a message of %d bytes to send; %d is the limit", size, c.limit)
	}
	return nil
}

func (s *Stream) recvProto(m any) error {
	p, err := asProto(m)
	if err != nil {
		return err
	}
	msg, err := s.next()
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(msg, p); err != nil {
		return status.Errorf(codes.Internal, "rpc: %v", err)
	}
	return nil
}
