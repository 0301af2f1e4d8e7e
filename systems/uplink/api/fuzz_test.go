package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table"
)

// decoders are the readers of bodies. Each returns what it read and the same as
// JSON, from which it must read the same again.
func decoders() []func([]byte) (any, string, error) {
	quote := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	return []func([]byte) (any, string, error){
		func(b []byte) (any, string, error) {
			d, err := parseInsert(b)
			return quote(d), fmt.Sprintf(`{"DevEUI":%s,"JoinEUI":%s,"DevAddr":%s,"Details":%s}`,
				quote(d.DevEUI), quote(d.JoinEUI), quote(d.DevAddr), quote(d.Details)), err
		},
		func(b []byte) (any, string, error) {
			u, err := parseUpdate(b)
			text := fmt.Sprintf(`{"DevEUI":%s,"JoinEUI":%s`, quote(u.eui), quote(u.join))
			if u.Active != nil {
				text += `,"ActiveDevAddr":` + quote(u.Active)
			}
			if u.Target != nil {
				text += `,"TargetDevAddr":` + quote(u.Target)
			}
			return quote([]any{u.eui, u.join, u.Active, u.Target}), text + "}", err
		},
		func(b []byte) (any, string, error) {
			euis, err := parseDrop(b)
			return quote(euis), fmt.Sprintf(`{"DevEUIs":%s}`, quote(append([]lorawan.EUI{}, euis...))), err
		},
		func(b []byte) (any, string, error) {
			g, err := parseCreateGroup(b)
			return quote([]any{g.addr, g.name}), fmt.Sprintf(`{"addr":%s,"name":%s}`, quote(g.addr), quote(g.name)), err
		},
		func(b []byte) (any, string, error) {
			u, err := parseUpdateGroup(b)
			return quote([]any{u.addr, u.Addr, u.Name}),
				fmt.Sprintf(`{"addr":%s,"update":{"addr":%s,"name":%s}}`, quote(u.addr), quote(u.Addr), quote(u.Name)), err
		},
		func(b []byte) (any, string, error) {
			addrs, err := parseAddrs(b, optional)
			return quote(addrs), fmt.Sprintf(`{"addrs":%s}`, quote(addrs)), err
		},
		func(b []byte) (any, string, error) {
			m, err := parseMember(b)
			return quote([]any{m.addr, m.eui}), fmt.Sprintf(`{"addr":%s,"dev_eui":%s}`, quote(m.addr), quote(m.eui)), err
		},
	}
}

func FuzzBodies(f *testing.F) {
	for i, body := range []string{
		`{"DevEUI":"9c1f4a00d2e80b37","JoinEUI":"4be6027755ad9013","DevAddr":"0000000B","Details":"{\"a\":\"\u00e9\"}"}`,
		`{"DevEUI":"9c1f4a00d2e80b37","JoinEUI":"4be6027755ad9013","ActiveDevAddr":"06a9d3f1","TargetDevAddr":"06a9d3f1"}`,
		`{"DevEUIs":["9c1f4a00d2e80b37","0000000000000001"]}`,
		`{"addr":"0f41c7aa","name":"street lamps \ud83d\ude00 \ud800"}`,
		`{"addr":"0f41c7aa","update":{"addr":null,"name":"x","more":[{}]}}`,
		`{"addrs":[]}`,
		`{"addr":"0f41c7aa","dev_eui":"9c1f4a00d2e80b37"}`,
		`null`, `[]`, `{"DevEUIs":[1,{}]}`, `{"DevEUI":null}`, "{\"\xff\":1}", ` {} x`, `{"addr":{"addr":"00000001"}}`,
	} {
		f.Add(uint8(i%7), []byte(body))
	}
	list := decoders()
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		decode := list[int(which)%len(list)]
		got, text, err := decode(body)
		if err != nil {
			checkInvalid(t, err, "body", len(body))
			return
		}
		again, _, err := decode([]byte(text))
		if err != nil || again != got {
			t.Fatalf("%s gave %v and, as %s, %v %v", body, got, text, again, err)
		}
	})
}

// checkInvalid wants a short ValidationFailed about a place.
func checkInvalid(t *testing.T, err error, place string, size int) {
	t.Helper()
	failure, ok := errors.AsType[*failure](err)
	if !ok || failure.code != codeValidation || failure.status != 422 || failure.cause != nil {
		t.Fatalf("got %#v", err)
	}
	if n := len(failure.detail); n == 0 || n > maxProblems {
		t.Fatalf("%d problems", n)
	}
	for _, p := range failure.detail {
		if p.Loc[0] != place || p.Msg == "" || p.Type == "" || len(p.Loc) > 3 {
			t.Fatalf("problem %+v", p)
		}
	}
	text, err := json.Marshal(failure)
	if err != nil || len(text) > 16<<10 || !utf8.Valid(text) {
		t.Fatalf("%d bytes of error for %d: %v", len(text), size, err)
	}
}

func FuzzSelect(f *testing.F) {
	f.Add("DevEUIs=9c1f4a00d2e80b37&DevEUIs=5e00b4a10077c2d9&offset=0&limit=50")
	f.Add("DevEUIs=%39c1f4a00d2e80b37&&limit=&offset=-1")
	f.Add("limit=%zz&=&access_token=x;y")
	f.Fuzz(func(t *testing.T, query string) {
		filter, err := parseSelect(query)
		if err != nil {
			checkInvalid(t, err, "query", len(query))
			return
		}
		if filter.Offset < 0 || filter.Limit < -1 {
			t.Fatalf("%q gave %+v", query, filter)
		}
		if n := strings.Count(query, "&") + 1; len(filter.DevEUIs) > n {
			t.Fatalf("%q gave %d DevEUIs", query, len(filter.DevEUIs))
		}
	})
}

// Whatever is in a device, its JSON is read back as it was.
func FuzzAppendDevice(f *testing.F) {
	f.Add(uint64(1), uint32(2), "", uint8(0))
	f.Add(^uint64(0), ^uint32(0), "a\x00\xff\"\\<\u2028é😀", uint8(7))
	f.Fuzz(func(t *testing.T, eui uint64, addr uint32, details string, given uint8) {
		join, active := lorawan.EUI(eui^1), lorawan.DevAddr(addr)
		d := table.Device{DevEUI: lorawan.EUI(eui), JoinEUI: &join, Target: &active}
		if given&1 != 0 {
			d.Active = &active
		}
		if given&2 != 0 {
			d.Target = nil
		}
		if given&4 != 0 {
			d.Details = &details
		}
		got, err := parseDevice(appendDevice(nil, &d))
		if err != nil {
			t.Fatal(err)
		}
		if got.eui != eui || *got.join != eui^1 || show(got.active) != showNumber(d.Active) ||
			show(got.target) != showNumber(d.Target) || !got.created.Equal(d.Created) ||
			utf8.ValidString(details) && show(got.details) != show(d.Details) {
			t.Fatalf("got %+v of %+v", got, d)
		}
	})
}

func showNumber(addr *lorawan.DevAddr) string {
	if addr == nil {
		return "<nil>"
	}
	return fmt.Sprint(uint32(*addr))
}
