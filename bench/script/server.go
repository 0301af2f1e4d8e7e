package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// startServer starts a service on a free port of loopback; it records what it is asked.
func startServer(service http.Handler) (address string, rec *recorder, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, err
	}
	rec = &recorder{}
	server := newServer(rec, service)
	ended := make(chan struct{})
	go func() {
		_ = server.Serve(listener) // until it is closed
		close(ended)
	}()
	return listener.Addr().String(), rec, func() {
		_ = server.Close()
		<-ended
	}, nil
}

// newServer has a service record what it is asked.
func newServer(rec *recorder, service http.Handler) *http.Server {
	server := &http.Server{Handler: rec.record(service), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // that of gRPC
	return server
}

// service has what scripts of load tests ask for: a small shop with a login,
// and one address for each thing that a client must be able to do.
func service() http.Handler {
	mux := http.NewServeMux()
	shop(mux)
	cookies(mux)
	redirects(mux)
	bodies(mux)
	sockets(mux)
	calls(mux)
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(number(r.PathValue("code"), 500))
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Duration(number(r.FormValue("ms"), 0)) * time.Millisecond):
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "done")
	})
	mux.HandleFunc("/basic-auth/{user}/{password}", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != r.PathValue("user") || password != r.PathValue("password") {
			w.Header().Set("WWW-Authenticate", `Basic realm="bench"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, http.StatusOK, map[string]any{"user": user})
	})
	mux.HandleFunc("POST /note", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent) // what a script observed is in the record
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) {
		panic(http.ErrAbortHandler) // which closes the connection without an answer
	})
	return mux
}

func shop(mux *http.ServeMux) {
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		var who struct{ User, Password string }
		if err := json.NewDecoder(r.Body).Decode(&who); err != nil || who.Password != "secret" {
			answer(w, http.StatusUnauthorized, map[string]any{"error": "who are you"})
			return
		}
		answer(w, http.StatusOK, map[string]any{"token": "token-of-" + who.User, "user": map[string]any{"name": who.User, "roles": []string{"a", "b"}}})
	})
	allowed := func(w http.ResponseWriter, r *http.Request) bool {
		ok := strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
		if !ok {
			answer(w, http.StatusUnauthorized, map[string]any{"error": "no token"})
		}
		return ok
	}
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, r *http.Request) {
		if allowed(w, r) {
			answer(w, http.StatusOK, map[string]any{"items": []map[string]any{{"id": 11, "name": "one"}, {"id": 12, "name": "two"}}})
		}
	})
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		if allowed(w, r) {
			answer(w, http.StatusOK, map[string]any{"id": number(r.PathValue("id"), 0), "price": 1.5})
		}
	})
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		if allowed(w, r) {
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

func cookies(mux *http.ServeMux) {
	mux.HandleFunc("/cookies/set", func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.URL.Query() {
			if name != "to" {
				http.SetCookie(w, &http.Cookie{Name: name, Value: values[0], Path: "/"})
			}
		}
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	mux.HandleFunc("/cookies", func(w http.ResponseWriter, r *http.Request) {
		all := map[string]any{}
		for _, c := range r.Cookies() {
			all[c.Name] = c.Value
		}
		answer(w, http.StatusOK, all)
	})
}

// redirects has hops that end in /redirect/0; ?code= is another than 302.
func redirects(mux *http.ServeMux) {
	mux.HandleFunc("/redirect/{n}", func(w http.ResponseWriter, r *http.Request) {
		n := number(r.PathValue("n"), 0)
		if n == 0 {
			fmt.Fprint(w, "arrived")
			return
		}
		to := fmt.Sprintf("/redirect/%d", n-1)
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", to)
		w.WriteHeader(number(r.FormValue("code"), http.StatusFound))
	})
	mux.HandleFunc("/redirect-to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("url"))
		w.WriteHeader(number(r.URL.Query().Get("code"), http.StatusFound))
	})
}

func bodies(mux *http.ServeMux) {
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the recorder has read it
		header := map[string]any{}
		for name, values := range r.Header {
			header[name] = strings.Join(values, ", ")
		}
		answer(w, http.StatusOK, map[string]any{"method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery,
			"host": r.Host, "headers": header, "body": string(body), "length": r.ContentLength})
	})
	mux.HandleFunc("GET /form", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<html><head><title>A form</title></head><body><h1 class="big">Form</h1>
<form action="/form" method="post"><input name="hidden" type="hidden" value="h1"><input name="name"><input type="submit"></form>
<a href="/redirect/0">away</a></body></html>`)
	})
	mux.HandleFunc("POST /form", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			answer(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
			return
		}
		answer(w, http.StatusOK, map[string]any{"form": r.PostForm})
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, r *http.Request) {
		for i := range number(r.FormValue("n"), 3) {
			fmt.Fprintf(w, "part %d\n", i)
			_ = http.NewResponseController(w).Flush() // it can
		}
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, `{"packed":true}`)
		_ = z.Close() // the connection may be gone
	})
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		for i := range number(r.PathValue("n"), 0) {
			_, _ = w.Write([]byte{byte(i)}) // the connection may be gone
		}
	})
}

// answer sends JSON with its length.
func answer(w http.ResponseWriter, status int, v map[string]any) {
	body, _ := json.Marshal(v) // strings and numbers only
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the connection may be gone
}

// number reads a whole number; another text is otherwise.
func number(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}
