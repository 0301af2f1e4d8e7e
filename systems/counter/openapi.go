package counter

import (
	_ "embed"

	"contend/systems/counter/counterpb"

	"github.com/valyala/fasthttp"
)

// The media types of the descriptions. That of YAML is RFC 9512's; no type is
// registered for the text of a .proto file.
const (
	yamlType  = "application/yaml"
	protoType = "text/plain; charset=utf-8"
)

// openAPI describes the HTTP service. It is never changed.
//
//go:embed openapi.yaml
var openAPI string

// serveDescription answers with the contract of HTTP or of gRPC.
func serveDescription(ctx *fasthttp.RequestCtx, path string) {
	contentType, text := yamlType, openAPI
	if path == pathProto {
		contentType, text = protoType, counterpb.Source
	}
	ctx.SetContentType(contentType)
	ctx.SetBodyString(text)
}
