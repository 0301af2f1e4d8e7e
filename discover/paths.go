package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Where servers without a page at / describe what they have, in the form of OpenAPI, and what they often have.
var (
	descriptions = []string{"/openapi.json", "/swagger.json", "/v3/api-docs", "/swagger/v1/swagger.json"}
	usual        = []string{"/health", "/healthz", "/ready", "/readyz", "/livez", "/status", "/ping", "/metrics", "/api", "/docs"}
)

// mostDescribed are the paths of a description that are tried.
const mostDescribed = 10

// service is what answers / with a status, and if that is an error what the server may have instead.
func (a *asker) service(ctx context.Context, status int) Service {
	s := Service{Scheme: a.scheme, HTTP2: a.http2, Answers: []Answer{answered("/", status)}}
	if s.Answers[0].Right || a.request.Method != "" && a.request.Method != http.MethodGet {
		return s // what else is asked for has no effect
	}
	for _, path := range slices.Concat(a.described(ctx), usual) {
		if ctx.Err() == nil {
			s.Answers = append(s.Answers, a.ask(ctx, path))
		}
	}
	s.Answers = best(s.Answers, func(Answer) bool { return true })
	return s
}

// best puts those answers first that are right, and of these the chosen ones.
func best(all []Answer, chosen func(Answer) bool) []Answer {
	rank := func(a Answer) int {
		switch {
		case !a.Right:
			return 2
		case !chosen(a):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b Answer) int { return rank(a) - rank(b) })
	return all
}

func (a *asker) ask(ctx context.Context, path string) Answer {
	status, err := a.get(ctx, path)
	if err != nil {
		return Answer{Path: path, Said: "no response"}
	}
	return answered(path, status)
}

func answered(path string, status int) Answer {
	return Answer{path, status < http.StatusBadRequest, fmt.Sprint(status)}
}

// described returns the paths of the server's own description that a plain GET can ask for.
func (a *asker) described(ctx context.Context) []string {
	for _, at := range descriptions {
		status, page, err := a.read(ctx, at, Request{Header: a.request.Header})
		if err != nil || status != http.StatusOK {
			continue
		}
		var api struct {
			Paths map[string]map[string]json.RawMessage `json:"paths"`
		}
		if json.Unmarshal(page, &api) != nil {
			continue
		}
		var paths []string
		for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
			if _, get := api.Paths[path]["get"]; get && strings.HasPrefix(path, "/") && !strings.Contains(path, "{") {
				paths = append(paths, path)
			}
		}
		return paths[:min(len(paths), mostDescribed)]
	}
	return nil
}
