package script

import (
	"strconv"
	"time"

	"github.com/grafana/sobek"
)

// isFile is hidden in what http.file returns: the object is a part of a form.
type isFile struct{}

// What a file has, for scripts that make forms of several parts themselves.
const (
	fileData = "data"
	fileName = "filename"
	fileType = "content_type"
)

// file is http.file(data, filename, content_type). The name is a time unless it is given.
func (v *vu) file(call sobek.FunctionCall) sobek.Value {
	data := call.Argument(0)
	v.bytes(data) // or an exception
	o := v.rt.NewObject()
	_ = o.Set(fileData, data) // the order that JSON shows
	_ = o.Set(fileName, textAt(call, 1, strconv.FormatInt(time.Now().UnixNano(), 10)))
	_ = o.Set(fileType, textAt(call, 2, "application/octet-stream"))
	v.hide(o, isFile{})
	return o
}
