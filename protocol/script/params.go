package script

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"sync"

	"github.com/grafana/sobek"

	"contend/protocol/coding"
	"contend/protocol/wire"
)

// paramReaders read what a request gets in addition to its URL and body.
var paramReaders = map[string]func(v *vu, a *ask, value sobek.Value) error{
	"headers":          readHeaders,
	"tags":             readTags,
	"timeout":          func(_ *vu, a *ask, value sobek.Value) (err error) { a.timeout, err = timeoutOf(value); return err },
	"redirects":        readRedirects,
	"compression":      func(_ *vu, a *ask, value sobek.Value) error { a.encoding = value.String(); return nil },
	"cookies":          readCookies,
	"jar":              readJar,
	"auth":             func(_ *vu, _ *ask, value sobek.Value) error { return checkAuth(value.String()) },
	"responseType":     readResponseType,
	"responseCallback": func(v *vu, a *ask, value sobek.Value) error { a.expected, a.words = v.callback(value); return nil },
}

// ofBody are fields that follow from the body: recorded headers have those of another one.
var ofBody = []string{"Content-Length", "Transfer-Encoding", "Trailer"}

// readHeaders reads fields. If names differ only in the case of letters, the last counts.
func readHeaders(v *vu, a *ask, value sobek.Value) error {
	o := value.ToObject(v.rt)
	for _, name := range o.Keys() {
		f := wire.Field{Name: name, Value: o.Get(name).String()}
		if err := f.Check(); err != nil {
			a.mistaken = cannotSend
			return err
		}
		v.target.around.Secrets.Field(name, f.Value)
		if !slices.Contains(ofBody, http.CanonicalHeaderKey(name)) {
			a.header.Set(name, f.Value)
		}
	}
	return nil
}

func readRedirects(_ *vu, a *ask, value sobek.Value) error {
	a.redirects, a.bounded = max(0, int(value.ToInteger())), true
	return nil
}

// compress applies params.compression to the body. A Content-Encoding among the headers stays.
func (v *vu) compress(a *ask) {
	if a.encoding == "" {
		return
	}
	body, err := coding.Encode(a.encoding, a.body)
	if err != nil {
		v.throw("params.compression: %v", err)
	}
	if len(a.body) == 0 {
		return
	}
	a.body, a.sent = body, string(body)
	if a.header.Get("Content-Encoding") == "" {
		a.header.Set("Content-Encoding", a.encoding)
	}
}

// readTags reads tags; that which is called name is the request's in results.
func readTags(v *vu, a *ask, value sobek.Value) (err error) {
	a.tags, err = v.readTagMap(value)
	if name, ok := a.tags["name"]; ok {
		a.name, a.named = name, true
	}
	return err
}

// checkAuth ignores a kind that nobody knows, as k6 does.
func checkAuth(kind string) error {
	if kind == "digest" || kind == "ntlm" {
		return fmt.Errorf("is %q; expected basic, with user:password in the URL", kind)
	}
	return nil
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func readResponseType(_ *vu, a *ask, value sobek.Value) error {
	switch kind := value.String(); kind {
	case "text":
		a.discard = false
	case "binary":
		a.discard, a.binary = false, true
	case "none":
		a.discard = true
	default:
		return fmt.Errorf("is %q; expected text, binary, none", kind)
	}
	return nil
}

// readBody takes text, bytes, or an object: a form, of several parts if a file is among its values.
func (v *vu) readBody(a *ask, value sobek.Value) {
	if !isObject(value) {
		return
	}
	if _, is := hiddenIn[isFile](value); is {
		v.throw("a body is a file alone: write { file: http.file(…) } for a form, or the file's data")
	}
	switch body := value.Export().(type) {
	case string:
		a.body = []byte(body)
	case sobek.ArrayBuffer:
		a.body = bytes.Clone(body.Bytes())
	case []byte:
		a.body = bytes.Clone(body)
	case map[string]any:
		v.readForm(a, value.ToObject(v.rt))
	default:
		v.throw("a body is text, bytes or an object, and not %.40q: JSON.stringify makes text of anything", value.String())
	}
	a.sent = string(a.body)
}

func (v *vu) readForm(a *ask, o *sobek.Object) {
	form, files := formOf(o)
	if len(files) == 0 {
		a.body = []byte(form.Encode())
		a.header.Set("Content-Type", "application/x-www-form-urlencoded") // unless params say otherwise
		return
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range o.Keys() {
		f := files[name]
		if f == nil {
			for _, one := range form[name] {
				_ = w.WriteField(name, one) // a buffer takes everything
			}
			continue
		}
		part, _ := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, name, orUndefined(f.Get(fileName)))},
			"Content-Type":        {orUndefined(f.Get(fileType)).String()},
		})
		_, _ = part.Write(v.bytes(orUndefined(f.Get(fileData))))
	}
	_ = w.Close()
	a.body = b.Bytes()
	a.header.Set("Content-Type", w.FormDataContentType())
}

// formOf are the values of a form by their names, and its files.
func formOf(o *sobek.Object) (form url.Values, files map[string]*sobek.Object) {
	form, files = url.Values{}, map[string]*sobek.Object{}
	for _, name := range o.Keys() {
		value := o.Get(name)
		if _, is := hiddenIn[isFile](value); is {
			files[name] = value.(*sobek.Object) // nothing else hides anything
		} else if list, ok := value.Export().([]any); ok {
			for _, one := range list {
				form.Add(name, fmt.Sprint(one))
			}
		} else if _, object := value.(*sobek.Object); object || !isObject(value) {
			form.Add(name, fmt.Sprint(value.Export())) // in the words of Go, as in k6
		} else {
			form.Add(name, value.String())
		}
	}
	return form, files
}

// together sends requests side by side, as many at a time as the options allow, and returns the
// replies in their order.
func (v *vu) together(asks []*ask) []*reply {
	for _, a := range asks {
		v.addCookies(a)
	}
	o := &v.target.Options
	if !slices.ContainsFunc(asks, func(a *ask) bool { return !v.conversation.takesAside(&a.call) }) {
		return v.conversation.together(asks, max(1, min(o.Batch, o.BatchPerHost)))
	}
	replies := make([]*reply, len(asks))
	all := make(chan struct{}, max(1, o.Batch))
	hosts := map[string]chan struct{}{}
	for _, a := range asks {
		hosts[a.url.Host] = make(chan struct{}, max(1, o.BatchPerHost))
	}
	v.away(func(ctx context.Context) {
		var sent sync.WaitGroup
		for i, a := range asks {
			sent.Go(func() {
				all <- struct{}{}
				defer func() { <-all }()
				host := hosts[a.url.Host]
				host <- struct{}{}
				defer func() { <-host }()
				wait(ctx, v.target.limit.reserve())
				r := new(reply)
				v.exchange(ctx, &a.call, r)
				replies[i] = r
			})
		}
		sent.Wait()
	})
	return replies
}

// readCookies takes values, or objects with value and replace.
func readCookies(v *vu, a *ask, value sobek.Value) error {
	o := value.ToObject(v.rt)
	for _, name := range o.Keys() {
		value := o.Get(name)
		replace := false
		if object, ok := value.(*sobek.Object); ok {
			if object.Get("value") == nil {
				return fmt.Errorf("%s has no value", name)
			}
			replace = object.Get("replace") != nil && object.Get("replace").ToBoolean()
			value = object.Get("value")
		}
		a.cookies = append(a.cookies, &http.Cookie{Name: name, Value: value.String()})
		if replace {
			if a.replaced == nil {
				a.replaced = map[string]bool{}
			}
			a.replaced[name] = true
		}
	}
	return nil
}

func readJar(v *vu, a *ask, value sobek.Value) error {
	j, ok := hiddenIn[*jar](value)
	if !ok {
		return fmt.Errorf("is no cookie jar: http.cookieJar() and new http.CookieJar() are")
	}
	a.jar = j.CookieJar
	return nil
}
