package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A modelled device, by what a customer sees of it.
type modelled struct {
	owner          string
	join           int
	active, target string
}

// Two customers do what they like with a few devices. Every answer is that of a map.
func TestModel(t *testing.T) {
	m := &model{t: t, api: newAPI(t, Config{})}
	rapid.Check(t, func(rt *rapid.T) {
		m.devices = make(map[int]*modelled)
		m.do("lamps", "POST", "devices/drop-all", "").ok(http.StatusOK)
		m.do("meters", "POST", "devices/drop-all", "").ok(http.StatusOK)
		rt.Repeat(map[string]func(*rapid.T){
			"insert":   m.insert,
			"update":   m.update,
			"drop":     m.drop,
			"drop all": m.dropAll,
			"select":   m.selectPages,
		})
	})
}

type model struct {
	t       *testing.T
	api     http.Handler
	devices map[int]*modelled
}

var (
	owners    = rapid.SampledFrom([]string{"lamps", "meters"})
	euis      = rapid.IntRange(1, 5)
	addresses = rapid.SampledFrom([]string{"", "00000001", "00000002"})
)

func (m *model) do(owner, method, path, body string) answer {
	r := httptest.NewRequest(method, "/api/v1/"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+owner+"-token")
	w := httptest.NewRecorder()
	m.api.ServeHTTP(w, r)
	return answer{m.t, w.Code, w.Header(), w.Body.String()}
}

func (m *model) insert(t *rapid.T) {
	owner, eui := owners.Draw(t, "owner"), euis.Draw(t, "eui")
	a := m.do(owner, "POST", "devices/insert", fmt.Sprintf(`{"DevEUI":"%016x","JoinEUI":"%016x"}`, eui, eui))
	want := http.StatusConflict
	if m.devices[eui] == nil {
		want = http.StatusCreated
		m.devices[eui] = &modelled{owner: owner, join: eui}
	}
	if a.status != want {
		t.Fatalf("insert: %d %s, want %d", a.status, a.body, want)
	}
}

func (m *model) update(t *rapid.T) {
	owner, eui, join := owners.Draw(t, "owner"), euis.Draw(t, "eui"), euis.Draw(t, "join")
	active, target := addresses.Draw(t, "active"), addresses.Draw(t, "target")
	body := fmt.Sprintf(`{"DevEUI":"%016x","JoinEUI":"%016x"`, eui, join)
	if active != "" {
		body += `,"ActiveDevAddr":"` + active + `"`
	}
	if target != "" {
		body += `,"TargetDevAddr":"` + target + `"`
	}
	a := m.do(owner, "POST", "devices/update", body+"}")
	d, want := m.devices[eui], http.StatusOK
	switch {
	case active == "" && target == "":
		want = http.StatusUnprocessableEntity
	case d == nil || d.owner != owner || d.join != join:
		want = http.StatusNotFound
	default:
		if active != "" {
			d.active = active
		}
		if target != "" {
			d.target = target
		}
		if active != "" && d.target == active {
			d.target = ""
		}
	}
	if a.status != want {
		t.Fatalf("update %s: %d %s, want %d", body, a.status, a.body, want)
	}
}

func (m *model) drop(t *rapid.T) {
	owner, list := owners.Draw(t, "owner"), rapid.SliceOf(euis).Draw(t, "euis")
	var quoted []string
	for _, eui := range list {
		quoted = append(quoted, fmt.Sprintf(`"%016x"`, eui))
	}
	a := m.do(owner, "POST", "devices/drop", `{"DevEUIs":[`+strings.Join(quoted, ",")+`]}`)
	n := m.remove(func(eui int) bool { return m.devices[eui].owner == owner && slices.Contains(list, eui) })
	if want := fmt.Sprintf(`{"deleted":%d}`, n); a.body != want {
		t.Fatalf("drop %v: %s, want %s", list, a.body, want)
	}
}

func (m *model) dropAll(t *rapid.T) {
	owner := owners.Draw(t, "owner")
	a := m.do(owner, "POST", "devices/drop-all", "")
	n := m.remove(func(eui int) bool { return m.devices[eui].owner == owner })
	if want := fmt.Sprintf(`{"deleted":%d}`, n); a.body != want {
		t.Fatalf("drop-all: %s, want %s", a.body, want)
	}
}

func (m *model) remove(which func(eui int) bool) (n int) {
	for eui := range m.devices {
		if which(eui) {
			delete(m.devices, eui)
			n++
		}
	}
	return n
}

// selectPages reads a list in pages of any size. Devices that were created in the
// same microsecond are in order of their DevEUI, so the order is that of CreatedAt.
func (m *model) selectPages(t *rapid.T) {
	owner, size := owners.Draw(t, "owner"), rapid.IntRange(1, 4).Draw(t, "size")
	var got []parsedDevice
	for {
		a := m.do(owner, "GET", fmt.Sprintf("devices/select?offset=%d&limit=%d", len(got), size), "")
		page := a.devices()
		got = append(got, page...)
		if len(page) < size {
			break
		}
	}
	sorted := slices.IsSortedFunc(got, func(a, b parsedDevice) int {
		if c := a.created.Compare(b.created); c != 0 {
			return c
		}
		return int(a.eui) - int(b.eui)
	})
	n := 0
	for eui, d := range m.devices {
		if d.owner != owner {
			continue
		}
		n++
		i := slices.IndexFunc(got, func(d parsedDevice) bool { return d.eui == uint64(eui) })
		if i < 0 || text(got[i].active) != d.active || text(got[i].target) != d.target {
			t.Fatalf("device %d is %+v, want %+v", eui, got, d)
		}
	}
	if len(got) != n || !sorted {
		t.Fatalf("%s has %+v, want %d devices in order", owner, got, n)
	}
}

func text(addr *uint64) string {
	if addr == nil {
		return ""
	}
	return fmt.Sprintf("%08x", *addr)
}
