// Package static serves a directory, or one generated page, over HTTP/1.1
// without TLS. The published experiment http-concurrency runs it as well as nginx.
//
// GET and HEAD are answered, every other method with 405; a request with a body
// is refused and its connection closed. Files have an entity tag and a date;
// If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since and If-Range
// are honoured (RFC 9110, section 13). One range is answered with 206 or 416; a
// request for several gets the whole file, as section 14.2 of RFC 9110 allows.
// A file that has a neighbour with the ending .br, .zst or .gz, not older than
// itself, is answered with what the client likes best by Accept-Encoding; of
// equals br before zstd before gzip before none.
//
// A directory is answered with its index.html, or 404: there are no listings.
// A name with a part that begins with a dot is not found, except below
// .well-known; neither is one that leads out of the directory, also by a
// symbolic link (see os.Root), nor what is not a regular file.
//
// Files may change while the server runs; each is checked again after one second. Files
// up to 128 KiB are kept in memory, at most 512 names. Replace a file by
// renaming another over it: one that is overwritten in place may be sent as a mixture,
// and one that is cut short ends the connections that carry it.
package static
