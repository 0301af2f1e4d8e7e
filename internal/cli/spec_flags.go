package cli

import (
	"github.com/spf13/cobra"

	"contend/protocol"
)

// specFlags are the flags that describe a target.
func specFlags(cmd *cobra.Command, s *protocol.Spec) {
	f := cmd.Flags()
	f.StringVarP(&s.Method, "method", "X", "", "HTTP `method` (GET, or POST with a body)")
	f.StringArrayVarP(&s.Header, "header", "H", nil, "HTTP header field or gRPC metadata, \"`Name: value`\"; may be repeated")
	f.StringVar(&s.Data, "data", "", "`body` to send; for gRPC the message as JSON, or several; the message of a WebSocket")
	f.StringVar(&s.DataFile, "data-file", "", "`file` that holds the body")
	f.StringVar(&s.Rows, "rows", "", "CSV or JSONL `file` whose rows fill {{column}} in URL, header and body of HTTP")
	f.StringVar(&s.RowOrder, "row-order", "", "`order` of the rows: sequential, per-vu or random (sequential)")
	f.Var((*requestsFile)(&s.Requests), "requests", "JSON `file` with a list of HTTP requests to send by weight")
	f.IntSliceVar(&s.ExpectStatus, "expect-status", nil, "right `status` codes (HTTP: 200 to 399 unless given; gRPC: 0)")
	f.StringArrayVar(&s.Checks, "check", nil, "`check` that a right answer passes, such as 'body contains \"ok\"'; may be repeated")
	f.StringVar(&s.BasicAuth, "basic-auth", "", "where user:password stands: env:NAME or file:PATH (`place`)")
	f.StringVar(&s.Bearer, "bearer", "", "where a bearer token stands: env:NAME or file:PATH (`place`)")
	f.StringVar(&s.HTTP, "http", "", "`version` of HTTP: 1.1, 2 or 3 (1.1)")
	f.BoolVar(&s.NoKeepAlive, "no-keepalive", false, "open a new connection for every HTTP iteration")
	f.StringVar(&s.UnixSocket, "unix-socket", "", "connect to this `socket` instead of the URL's host")
	f.StringVar(&s.Connections, "connections", "", "connections of gRPC, HTTP/2, HTTP/3 and WebSockets: `shared:N`, per-vu or per-iteration")
	grpcFlags(cmd, s)
	wsFlags(cmd, s)
	f.IntVar(&s.MaxMessage, "max-message", 0, "largest gRPC or WebSocket message that is taken, in `bytes`")
	f.StringVar(&s.CAFile, "ca-file", "", "`file` with the trusted authorities in PEM form")
	f.BoolVar(&s.Insecure, "insecure", false, "accept any certificate")
	f.StringVar(&s.CertFile, "cert-file", "", "`file` with our certificate in PEM form")
	f.StringVar(&s.KeyFile, "key-file", "", "`file` with its key in PEM form")
	f.StringVar(&s.Engine, "engine", "", "goroutines: a goroutine for each virtual user, although event loops could do it (`engine`)")
}

func grpcFlags(cmd *cobra.Command, s *protocol.Spec) {
	f := cmd.Flags()
	f.StringArrayVar(&s.Proto, "proto", nil, ".proto `file` that describes the gRPC method (otherwise the server is asked by reflection)")
	f.StringArrayVar(&s.ImportPath, "import-path", nil, "`folder` in which .proto files are looked up")
	f.IntVar(&s.Messages, "messages", 0, "gRPC streams: `number` of messages sent in an iteration, or read of a server's stream")
	f.StringVar(&s.Stream, "stream", "", "gRPC: per-vu keeps a bidirectional stream open over iterations (`per-iteration`)")
	f.DurationVar(&s.Deadline, "deadline", 0, "gRPC: what the server is told instead of the timeout")
}

func wsFlags(cmd *cobra.Command, s *protocol.Spec) {
	f := cmd.Flags()
	f.StringVar(&s.Mode, "mode", "", "WebSocket: an iteration is an `exchange`, or only send or receive")
	f.StringVar(&s.Match, "match", "", "WebSocket: answers belong to messages by `order` or by id")
	f.StringVar(&s.IDPath, "id-path", "", "WebSocket: JSON `path` of the id in messages, such as $.id")
	f.StringVar(&s.AnswerIDPath, "answer-id-path", "", "WebSocket: JSON `path` of the id in answers, if it differs")
	f.BoolVar(&s.Binary, "binary", false, "WebSocket: messages are binary")
	f.StringArrayVar(&s.Subprotocols, "subprotocol", nil, "WebSocket: `name` of a subprotocol to offer; may be repeated")
	f.BoolVar(&s.Compress, "compress", false, "WebSocket: offer permessage-deflate")
}
