package static

import (
	"fmt"
	"strings"
)

// A Page is generated content. The zero value has no content.
type Page struct {
	body        []byte
	contentType string
}

// maxPage is the largest page in bytes.
const maxPage = 1 << 30

const (
	pageHead  = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Page</title></head><body>\n"
	pageTail  = "</body></html>\n"
	pageWords = "a goroutine waits for the lock while another holds it and the queue grows longer than anyone expected " +
		"because each request takes its turn and nobody knows how many are still to come before the server has rested"
)

// NewPage makes a page of exactly size bytes, the same for the same arguments:
// HTML with text in English words if text is set, else bytes that do not
// compress. A size from 0 to 1 GiB is allowed.
func NewPage(size int64, text bool) (Page, error) {
	if size < 0 || size > maxPage {
		return Page{}, fmt.Errorf("static: size is %d bytes; expected 0 to %d", size, maxPage)
	}
	p := Page{body: make([]byte, 0, size), contentType: typeOf("page.html")}
	random := uint64(1)
	if !text {
		p.contentType = typeOf("")
		for int64(len(p.body)) < size {
			p.body = append(p.body, byte(next(&random)))
		}
		return p, nil
	}
	end := int(size)
	if end < len(pageHead)+len(pageTail) { // too small for a document: words alone
		for len(p.body) < end {
			p.body = append(p.body, pageWords[:min(len(pageWords), end-len(p.body))]...)
		}
		return p, nil
	}
	p.body = append(p.body, pageHead...)
	end -= len(pageTail)
	words := strings.Fields(pageWords)
	for column := 0; len(p.body) < end; {
		word := words[next(&random)%uint64(len(words))]
		separator := byte(' ')
		if column += len(word) + 1; column > 72 {
			column, separator = 0, '\n'
		}
		p.body = append(p.body, word...)
		p.body = append(p.body, separator)
	}
	p.body = append(p.body[:end], pageTail...)
	return p, nil
}

// next is splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, figure 16.
func next(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
