package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"contend/protocol/wire"
)

// A client sends one export at a time.
type client interface {
	// send returns what the collector answered, or why it did not take the export: a *refusal
	// if the answer says whether to try again.
	send(context.Context, *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error)
	io.Closer
}

// A refusal is what a collector says that did not take an export.
type refusal struct {
	text  string
	again bool          // it may be tried again,
	after time.Duration // after so long; 0: it does not say
}

func (r *refusal) Error() string { return r.text }

// answerLimit bounds answers and their headers, in bytes: an export is answered with a few.
const answerLimit = 64 << 10

// connectLimit is how long a connection may take.
const connectLimit = 5 * time.Second

func newClient(c *Config) (client, error) {
	u, err := url.Parse(string(c.Collector))
	if err != nil {
		return nil, err
	}
	tls, err := wire.TLS{CA: c.CA}.Config(u.Hostname())
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tls, ForceAttemptHTTP2: true,
			DisableCompression: true, MaxResponseHeaderBytes: answerLimit, MaxIdleConnsPerHost: 1}
		return &httpClient{c, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
	}
	transport := insecure.NewCredentials()
	if secure[u.Scheme] {
		transport = credentials.NewTLS(tls)
	}
	delays := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	conn, err := grpc.NewClient("dns:///"+u.Host, grpc.WithTransportCredentials(transport), grpc.WithUserAgent("contend"), grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), grpc.WithConnectParams(grpc.ConnectParams{Backoff: delays, MinConnectTimeout: connectLimit}),
		grpc.WithMaxHeaderListSize(answerLimit), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerLimit)))
	if err != nil {
		return nil, err
	}
	return &grpcClient{c, conn}, nil
}

// OTLP over HTTP: https://opentelemetry.io/docs/specs/otlp/#otlphttp.
type httpClient struct {
	config *Config
	*http.Client
}

func (c *httpClient) send(ctx context.Context, export *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	body, err := proto.Marshal(export)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(c.config.Collector), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "contend")
	for key, text := range c.config.Headers {
		request.Header.Set(key, text)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if response.StatusCode/100 != 2 {
		again := slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, response.StatusCode)
		return nil, &refusal{"it answered " + response.Status, again, retryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	answer := new(collector.ExportMetricsServiceResponse)
	if err != nil || proto.Unmarshal(text, answer) != nil {
		return new(collector.ExportMetricsServiceResponse), nil // it has it, by the status
	}
	return answer, nil
}

// retryAfter reads seconds or a date of HTTP; 0: it is neither.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

func (c *httpClient) Close() error {
	c.CloseIdleConnections()
	return nil
}

// OTLP over gRPC: https://opentelemetry.io/docs/specs/otlp/#otlpgrpc.
type grpcClient struct {
	config *Config
	*grpc.ClientConn
}

func (c *grpcClient) send(ctx context.Context, export *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	answer, err := collector.NewMetricsServiceClient(c).Export(metadata.NewOutgoingContext(ctx, metadata.New(c.config.Headers)), export)
	said, ok := status.FromError(err)
	if err == nil || !ok {
		return answer, err
	}
	r := &refusal{text: fmt.Sprintf("%s: %s", said.Code(), said.Message())}
	switch said.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		r.again = true
	}
	for _, detail := range said.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			r.after = max(0, info.GetRetryDelay().AsDuration())
			r.again = r.again || said.Code() == codes.ResourceExhausted
		}
	}
	return nil, r
}

// cause is an error in a line: what a server may say in it has no signs that a terminal obeys.
func cause(err error) string {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	text := []rune(err.Error())
	for i, r := range text {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			text[i] = ' '
		}
	}
	if len(text) > 200 {
		return string(text[:200]) + "…"
	}
	return string(text)
}
