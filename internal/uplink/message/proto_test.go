package message

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// described returns a message of uplink.proto.
func described(tb testing.TB, name protoreflect.Name) protoreflect.MessageDescriptor {
	tb.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := compiler.Compile(tb.Context(), "uplink.proto")
	if err != nil {
		tb.Fatal(err)
	}
	return files[0].Messages().ByName(name)
}

// What is written has, field by field, the form that protobuf writes by uplink.proto.
func TestWrittenByProtobuf(t *testing.T) {
	written := map[protoreflect.Name][][]byte{}
	for _, u := range upstreams() {
		written["FromRAN"] = append(written["FromRAN"], B.AppendUpstream(nil, u))
	}
	written["FromRAN"] = append(written["FromRAN"], B.AppendDownstreamAck(nil, &DownstreamAck{1, 2}),
		B.AppendDownstreamResult(nil, &DownstreamResult{1, 2, TooLate, "at night"}))
	for _, a := range answers() {
		written["FromLNS"] = append(written["FromLNS"], B.AppendAnswer(nil, a))
	}
	for _, d := range downstreams() {
		d.Window.Radio.Power = 14
		written["FromLNS"] = append(written["FromLNS"], B.AppendDownstream(nil, d))
	}
	for name, messages := range written {
		description := described(t, name)
		for _, data := range messages {
			m := dynamicpb.NewMessage(description)
			if err := proto.Unmarshal(data, m); err != nil {
				t.Fatalf("%x: %v", data, err)
			}
			if unknown(m) {
				t.Errorf("%x has unknown fields: %v", data, m)
			}
			again, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if len(again) != len(data) { // the order may differ
				t.Errorf("%v:\nwritten  %x\nprotobuf %x", m, data, again)
			}
		}
	}
}

// What protobuf reads by uplink.proto, by name.
func TestReadByProtobuf(t *testing.T) {
	full, fsk := upstreams()["full"], upstreams()["fsk"]
	full.Transaction, fsk.Transaction = 0x0102030405060708, 1
	full.Position.Latitude, full.Position.Longitude = 0.5, -7.25
	const one, many = `"AAAAAAAAAAAAAAAAAAAAAQ=="`, `"AAAAAAAAAAABAgMEBQYHCA=="`
	multicast := downstreams()["multicast"]
	multicast.Transaction = 1
	join := downstreams()["join accept"]
	join.Window.Radio.Power = -14
	for _, tt := range []struct {
		name protoreflect.Name
		data []byte
		want string
	}{
		{"FromRAN", B.AppendUpstream(nil, full), `{"upstream":{"protocolVersion":1,"transactionId":` + many + `,
			"devEuis":["0","18446744073709551615"],"lora":{"frequency":867500000,"spreading":9,"bandwidth":125000,"rssi":-97,"snr":4.75},
			"phyPayloadNoMic":"AAkKY2T/","micChallenge":[0,4294967295],"position":{"lat":0.5,"lng":-7.25,"alt":552}}}`},
		{"FromRAN", B.AppendUpstream(nil, &Upstream{Transaction: 1, Radio: fsk.Radio}), `{"upstream":{"protocolVersion":1,
			"transactionId":` + one + `,"fsk":{"frequency":868800000,"bitRate":50000,"rssi":-61}}}`},
		{"FromRAN", B.AppendDownstreamResult(nil, &DownstreamResult{1, 2, TooLate, "at night"}), `{"downstreamResult":{"protocolVersion":1,
			"transactionId":` + one + `,"resultCode":"TOO_LATE","resultMessage":"at night","mailboxId":"2"}}`},
		{"FromRAN", B.AppendDownstreamAck(nil, &DownstreamAck{1, 2}), `{"downstreamAck":{"protocolVersion":1,"transactionId":` + one + `,"mailboxId":"2"}}`},
		{"FromLNS", B.AppendAnswer(nil, &Answer{Transaction: 1, DevEUI: 2, MIC: 3}), `{"upstreamAck":{"protocolVersion":1,
			"transactionId":` + one + `,"devEui":"2","mic":3}}`},
		{"FromLNS", B.AppendAnswer(nil, &Answer{Transaction: 1, Reject: MICFailed, Text: "no"}), `{"upstreamReject":{"protocolVersion":1,
			"transactionId":` + one + `,"resultCode":"REJECT_MIC_FAILED","resultMessage":"no"}}`},
		{"FromLNS", B.AppendDownstream(nil, join), `{"downstream":{"protocolVersion":1,"transactionId":` + one + `,"devEui":"5","targetDevAddr":111793137,
			"txWindow":{"lora":{"frequency":867500000,"spreading":9,"bandwidth":125000,"power":-14},"delay":5},"phyPayload":"YNobASYABAAHWyEI"}}`},
		{"FromLNS", B.AppendDownstream(nil, multicast), `{"multicastDownstream":{"protocolVersion":1,"transactionId":` + one + `,"addr":255969194,
			"txWindow":{"lora":{"frequency":867500000,"spreading":9,"bandwidth":125000},"deadline":"1099511627776"},"phyPayload":"YNobASYABAAHWyEI"}}`},
	} {
		m := dynamicpb.NewMessage(described(t, tt.name))
		if err := proto.Unmarshal(tt.data, m); err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal([]byte(tt.want), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, want %s", text, tt.want)
		}
	}
}

// unknown reports whether a message or one inside it has unknown fields.
func unknown(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() != nil && !f.IsList() {
			found = found || unknown(v.Message())
		}
		return !found
	})
	return found
}

// What is accepted, protobuf accepts, too; what it writes then reads as the same.
func agree(t *testing.T, description protoreflect.MessageDescriptor, data []byte, parse func([]byte) (any, error)) {
	t.Helper()
	got, err := parse(data)
	if err != nil {
		return
	}
	m := dynamicpb.NewMessage(description)
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatalf("%x: protobuf: %v", data, err)
	}
	again, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(again)
	if err != nil {
		t.Fatalf("%x, by protobuf %x: %v", data, again, err)
	}
	if err := same(got, want); err != nil {
		t.Fatalf("%x, by protobuf %x: %v", data, again, err)
	}
}

func FuzzFromRANB(f *testing.F) {
	description := described(f, "FromRAN")
	for _, u := range upstreams() {
		f.Add(B.AppendUpstream(nil, u))
	}
	f.Add(B.AppendDownstreamAck(nil, &DownstreamAck{1, 2}))
	f.Add(B.AppendDownstreamResult(nil, &DownstreamResult{1, 2, TooLate, "é"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, description, data, func(data []byte) (any, error) {
			u := upstreams()["full"]
			return u, B.ParseUpstream(data, u)
		})
		agree(t, description, data, func(data []byte) (any, error) {
			ack, result, err := B.ParseDownstreamReply(data)
			if result == nil {
				result = &DownstreamResult{Transaction: ack.Transaction, Mailbox: ack.Mailbox, Text: "ack"}
			}
			return result, err
		})
	})
}

func FuzzFromLNSB(f *testing.F) {
	description := described(f, "FromLNS")
	for _, a := range answers() {
		f.Add(B.AppendAnswer(nil, a))
	}
	for _, d := range downstreams() {
		f.Add(B.AppendDownstream(nil, d))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, description, data, func(data []byte) (any, error) {
			a := Answer{Transaction: 1, DevEUI: 2, MIC: 3, Reject: RejectOther, Text: "x"}
			err := B.ParseAnswer(data, &a)
			return &a, err
		})
		agree(t, description, data, func(data []byte) (any, error) { return B.ParseDownstream(data) })
	})
}
