package api

import (
	"encoding"
	"encoding/json"
	"net/http"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table"
)

// timeForm is UTC without a zone and with exactly six digits of a second: the
// customers' parsers know no other.
const timeForm = "2006-01-02T15:04:05.000000"

const (
	// chunkSize is how much of a list is sent at once.
	chunkSize = 64 << 10
	// chunkTimeout is how long a customer may take to read it, or a short answer.
	chunkTimeout = time.Minute
)

// write sends an answer. A failure to send is the customer's: nobody is left to
// tell it to.
func write(w http.ResponseWriter, status int, result any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if list, ok := result.([]table.Device); ok {
		writeDevices(w, list)
		return
	}
	body, _ := json.Marshal(result) // types of ours, which always can be
	writeChunk(w, body)
}

// writeChunk replaces the server's limit for the whole answer, and the server ends
// it with the request.
func writeChunk(w http.ResponseWriter, chunk []byte) error {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(chunkTimeout)) // a recorder in a test has none
	_, err := w.Write(chunk)
	return err
}

// writeDevices sends a list that may be of any length, in bounded memory.
func writeDevices(w http.ResponseWriter, list []table.Device) {
	chunk := append(make([]byte, 0, chunkSize+1024), '[')
	for i := range list {
		if i > 0 {
			chunk = append(chunk, ',')
		}
		chunk = appendDevice(chunk, &list[i])
		if len(chunk) < chunkSize {
			continue
		}
		if writeChunk(w, chunk) != nil {
			return
		}
		chunk = chunk[:0]
	}
	writeChunk(w, append(chunk, ']'))
}

// device is a table.Device as JSON.
type device table.Device

// MarshalJSON returns all six keys: the customers' parsers want each.
func (d device) MarshalJSON() ([]byte, error) {
	return appendDevice(nil, (*table.Device)(&d)), nil
}

func appendDevice(dst []byte, d *table.Device) []byte {
	dst = append(dst, `{"CreatedAt":"`...)
	dst = d.Created.UTC().AppendFormat(dst, timeForm)
	dst = append(dst, `","DevEUI":`...)
	dst = appendID(dst, &d.DevEUI)
	dst = append(dst, `,"JoinEUI":`...)
	dst = appendID(dst, d.JoinEUI)
	dst = append(dst, `,"ActiveDevAddr":`...)
	dst = appendID(dst, d.Active)
	dst = append(dst, `,"TargetDevAddr":`...)
	dst = appendID(dst, d.Target)
	dst = append(dst, `,"Details":`...)
	if d.Details == nil {
		return append(dst, "null}"...)
	}
	details, _ := json.Marshal(*d.Details) // a string always can be
	return append(append(dst, details...), '}')
}

// appendID appends an identifier in quotes, or null.
func appendID[T encoding.TextAppender](dst []byte, id *T) []byte {
	if id == nil {
		return append(dst, "null"...)
	}
	dst, _ = (*id).AppendText(append(dst, '"')) // never fails
	return append(dst, '"')
}

// group is a table.Group as JSON.
type group struct {
	Addr    lorawan.DevAddr `json:"addr"`
	Name    string          `json:"name"`
	Created string          `json:"created_at"`
	Devices []lorawan.EUI   `json:"devices"` // never nil
}

func groupOf(g table.Group) group {
	return group{g.Addr, g.Name, g.Created.UTC().Format(timeForm), g.Devices}
}

type deleted struct {
	Deleted int `json:"deleted"`
}

type added struct {
	IsAdded bool `json:"is_added"`
}

type removed struct {
	IsRemoved bool `json:"is_removed"`
}
