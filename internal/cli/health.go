package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"contend/protocol/wire"
	"contend/systems/counter"
)

func newHealth(*app) *cobra.Command {
	var h struct {
		Timeout time.Duration `flag:"timeout" default:"2s" above:"0s" words:"how long to wait for the response"`
	}
	var o *options
	cmd := &cobra.Command{
		Use:   "health URL",
		Short: "Check whether a service is healthy (for container health checks)",
		Long: "Check whether a service is healthy. The exit code is 0 if a GET returns 200 to 299, or if a gRPC\n" +
			"server's health service reports SERVING; otherwise it is 1, and a line explains why. Redirects are\n" +
			"not followed, and no proxy is used.",
		Example: indent + "contend health http://localhost:8080/ready\n" + indent + "contend health grpc://localhost:50055",
		Args:    arguments(1, "one URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := healthCheck(args[0])
			if err := errors.Join(o.read(), err); err != nil {
				return usage(err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), h.Timeout)
			defer cancel()
			if err := ask(ctx); err != nil {
				return failed(fmt.Errorf("health: %w", err))
			}
			return nil
		},
	}
	o = optionsOf(cmd, &h)
	return cmd
}

// healthCheck returns what asks the service at a URL.
func healthCheck(text string) (func(context.Context) error, error) {
	u, err := wire.Parse(text)
	switch {
	case err != nil || u.Host == "":
	case u.Scheme == "http" || u.Scheme == "https":
		return func(ctx context.Context) error { return healthyHTTP(ctx, u) }, nil
	case u.Scheme == "grpc" && u.Port() != "" && strings.Trim(u.Path, "/") == "":
		return func(ctx context.Context) error { return counter.Healthy(ctx, u.Host) }, nil
	}
	return nil, fmt.Errorf("URL is %q; expected http://…, https://…, grpc://host:port", text)
}

// healthyHTTP returns why a GET is not answered well.
func healthyHTTP(ctx context.Context, u *url.URL) error {
	const shown = 200 // bytes of an answer's body
	request := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host}).WithContext(ctx)
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, shown)) // the status says enough
	return fmt.Errorf("GET %s answers %s: %s", request.URL.Redacted(), answer.Status, printable(string(body)))
}

// printable puts a text into one line that no terminal obeys.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}
