package grpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// encode turns protobuf JSON into the bytes of the request messages. Nothing at all is one message without fields.
func (m method) encode(data []byte) ([]*request, error) {
	texts := []json.RawMessage{nil}
	if len(bytes.TrimSpace(data)) > 0 {
		var err error
		if texts, err = splitMessages(data, isList(m.Input())); err != nil {
			return nil, fmt.Errorf("for %s: %w", m.Input().FullName(), err)
		}
	}
	if len(texts) > 1 && !m.kind().clientStreams() {
		return nil, fmt.Errorf("for %s: %d messages, but the method is %v; expected 1", m.Input().FullName(), len(texts), m.kind())
	}
	var requests []*request
	for i, text := range texts {
		encoded, err := m.encodeOne(text)
		if err != nil {
			which := ""
			if len(texts) > 1 {
				which = fmt.Sprintf(" (message %d of %d)", i+1, len(texts))
			}
			return nil, fmt.Errorf("for %s%s: %w", m.Input().FullName(), which, err)
		}
		requests = append(requests, newRequest(encoded))
	}
	return requests, nil
}

// encodeOne turns one message into bytes; of nothing it has no fields.
func (m method) encodeOne(text []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.Input())
	if len(text) > 0 {
		if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal(text, message); err != nil {
			return nil, fmt.Errorf("%s; its fields: %s", withoutPrefix(err), fieldNames(m.Input()))
		}
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, errors.New(withoutPrefix(err))
	}
	return encoded, nil
}

// isList reports that the JSON form of a message may itself be an array.
func isList(message protoreflect.MessageDescriptor) bool {
	name := message.FullName()
	return name == "google.protobuf.ListValue" || name == "google.protobuf.Value"
}

// splitMessages splits a sequence of JSON values, and arrays unless they are
// messages themselves.
func splitMessages(data []byte, arrays bool) ([]json.RawMessage, error) {
	var messages []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		if arrays || value[0] != '[' {
			messages = append(messages, value)
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		messages = append(messages, list...)
	}
	if len(messages) == 0 {
		return nil, errors.New("an empty array; at least one message is needed")
	}
	return messages, nil
}
