package script

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/protocol/wire"
)

// cookies returns the jar of this iteration.
func (v *vu) cookies() *cookiejar.Jar {
	if v.jar == nil {
		v.jar, _ = cookiejar.New(nil) // which fails never
	}
	return v.jar
}

// addCookies puts into a request's header what the jar has for its URL, and its own.
func (v *vu) addCookies(a *ask) {
	if a.jar == nil && v.jar != nil {
		a.jar = v.jar
	}
	if a.jar == nil && len(a.cookies) == 0 {
		return
	}
	all := slices.Clone(a.cookies)
	if a.jar != nil {
		for _, c := range a.jar.Cookies(a.url) {
			if !a.replaced[c.Name] {
				all = append(all, c)
			}
		}
	}
	if a.carried == nil {
		a.carried = all
	}
	var pairs []string
	for _, c := range all {
		if pair := (&http.Cookie{Name: c.Name, Value: c.Value}).String(); pair != "" {
			pairs = append(pairs, pair)
		}
	}
	if a.given == nil {
		own := a.header.Get("Cookie")
		a.given = &own
	}
	if *a.given != "" {
		pairs = append([]string{*a.given}, pairs...)
	}
	if len(pairs) > 0 {
		a.header.Set("Cookie", strings.Join(pairs, "; "))
	} else {
		a.header.Del("Cookie")
	}
}

// keepCookies keeps what an answer sets.
func (v *vu) keepCookies(a *ask, r *reply) {
	if !r.has("set-cookie") {
		return
	}
	if set := (&http.Response{Header: r.answerHeader()}).Cookies(); len(set) > 0 {
		if a.jar == nil {
			a.jar = v.cookies()
		}
		a.jar.SetCookies(a.url, set)
	}
}

// a jar is a script's view of one.
type jar struct{ http.CookieJar }

// jarObject is the object that http.cookieJar() returns.
func (v *vu) jarObject(of http.CookieJar) *sobek.Object {
	o := v.rt.NewObject()
	v.fillJar(o, of)
	return o
}

// newJar is new http.CookieJar().
func (v *vu) newJar(call sobek.ConstructorCall) *sobek.Object {
	of, _ := cookiejar.New(nil)
	v.fillJar(call.This, of)
	return nil
}

func (v *vu) fillJar(o *sobek.Object, of http.CookieJar) {
	v.hide(o, &jar{of})
	parse := func(text string) *url.URL {
		u, err := wire.Parse(text)
		if err != nil { // one without a host has no cookies
			v.throw("%q is no URL", text)
		}
		return v.target.redirected(u)
	}
	_ = o.Set("cookiesForURL", func(text string) map[string][]string {
		all := map[string][]string{}
		for _, c := range of.Cookies(parse(text)) {
			all[c.Name] = append(all[c.Name], c.Value)
		}
		return all
	})
	_ = o.Set("set", func(text, name, value string, options map[string]any) bool {
		c := &http.Cookie{Name: name, Value: value}
		for key, value := range options {
			setCookie(c, key, value)
		}
		of.SetCookies(parse(text), []*http.Cookie{c})
		return true
	})
	expire := func(u *url.URL, name string) {
		of.SetCookies(u, []*http.Cookie{{Name: name, MaxAge: -1, Path: "/"}, {Name: name, MaxAge: -1}})
	}
	_ = o.Set("delete", func(text, name string) { expire(parse(text), name) })
	_ = o.Set("clear", func(text string) {
		u := parse(text)
		for _, c := range of.Cookies(u) {
			expire(u, c.Name)
		}
	})
}

// setCookie sets an attribute by its name.
func setCookie(c *http.Cookie, key string, value any) {
	switch key {
	case "domain":
		c.Domain, _ = value.(string)
	case "path":
		c.Path, _ = value.(string)
	case "secure":
		c.Secure, _ = value.(bool)
	case "http_only":
		c.HttpOnly, _ = value.(bool)
	case "max_age":
		if n, ok := value.(int64); ok {
			c.MaxAge = int(n)
		}
	case "expires":
		if text, ok := value.(string); ok {
			c.Expires, _ = time.Parse(time.RFC1123, text)
		}
	}
}
