package load

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// Content is what a right answer says of itself, by which the answers of two servers
// can be compared.
type Content struct {
	// StatusName is what the protocol calls the status; empty: by its number alone.
	StatusName string
	// Type is the media type in lower case without its parameters, or text or binary of
	// a WebSocket's message, as printable ASCII; empty: the answer names none.
	Type []byte
	// Checked: the answer has passed a check of more than its status.
	Checked bool
	// Redirect: the answer only names another URL, and nobody asked for that.
	Redirect bool
	// Location is that URL, as printable ASCII.
	Location []byte
}

// Answers is what the right answers were like. It adds up exactly, in any order.
type Answers struct {
	// Kinds counts them by status and type, in this order.
	Kinds []AnswerKind `json:"kinds"`
	// Bodies counts them by the length of the body, in ascending order.
	Bodies []Bodies `json:"bodies"`
	// Checked is the number of those whose content has passed a check.
	Checked int64 `json:"checked,omitempty"`
	// Redirects is the number of responses that only name another URL. Location is
	// one such URL, the first by its bytes.
	Redirects int64  `json:"redirects,omitempty"`
	Location  string `json:"location,omitempty"`
}

// An AnswerKind is the number of answers of one status and type.
type AnswerKind struct {
	Status      int    `json:"status"`
	StatusName  string `json:"status_name,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Count       int64  `json:"count"`
}

// Bodies is the number of bodies whose lengths are in one class, and their bytes
// together. A class is as wide as a 32nd of its lengths, at least 1 byte, so that
// Bytes ÷ Count is within 3.2% of each, and exact if all are equal.
type Bodies struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// mean is the mean length; 0 of none, as a damaged document may have them.
func (b Bodies) mean() int64 { return b.Bytes / max(1, b.Count) }

// sizeClass numbers the classes of lengths in ascending order: the lengths below 64,
// and 32 for each further power of two.
func sizeClass(length int64) int {
	exponent := max(0, bits.Len64(uint64(length))-6)
	return exponent<<5 + int(length>>exponent)
}

// record counts an answer of this status and length.
func (a *Answers) record(status int, body int64, c *Content) {
	a.kind(status, c).Count++
	bodies := a.bodies(body)
	bodies.Count++
	bodies.Bytes += body
	if c.Checked {
		a.Checked++
	}
	if !c.Redirect {
		return
	}
	if a.Redirects == 0 || string(c.Location) < a.Location {
		a.Location = string(c.Location)
	}
	a.Redirects++
}

// kind returns the count for a status and type. More than maxStatuses are one.
func (a *Answers) kind(status int, c *Content) *AnswerKind {
	for i := range a.Kinds {
		if k := &a.Kinds[i]; k.Status == status && k.ContentType == string(c.Type) {
			return k
		}
	}
	if len(a.Kinds) >= maxStatuses {
		return a.kindOf(AnswerKind{Status: otherStatus})
	}
	return a.kindOf(AnswerKind{Status: status, StatusName: c.StatusName, ContentType: string(c.Type)})
}

// kindOf returns the count for the status and type of another, which is added
// where it is new.
func (a *Answers) kindOf(like AnswerKind) *AnswerKind {
	i, found := slices.BinarySearchFunc(a.Kinds, like, func(k, like AnswerKind) int {
		return cmp.Or(cmp.Compare(k.Status, like.Status), strings.Compare(k.ContentType, like.ContentType))
	})
	if !found {
		like.Count = 0
		a.Kinds = slices.Insert(a.Kinds, i, like)
	}
	return &a.Kinds[i]
}

// bodies returns those of the class of a length. Most servers send one length alone.
func (a *Answers) bodies(length int64) *Bodies {
	if len(a.Bodies) == 1 && a.Bodies[0].Bytes == length*a.Bodies[0].Count {
		return &a.Bodies[0]
	}
	return a.class(sizeClass(length))
}

// class returns the bodies of a class, which is added where it is new.
func (a *Answers) class(class int) *Bodies {
	i, found := slices.BinarySearchFunc(a.Bodies, class, func(b Bodies, class int) int { return sizeClass(b.mean()) - class })
	if !found {
		a.Bodies = slices.Insert(a.Bodies, i, Bodies{})
	}
	return &a.Bodies[i]
}

// add adds up what answers of two parts of a run, or of runs, were like.
func (a *Answers) add(o *Answers) {
	for _, k := range o.Kinds {
		a.kindOf(k).Count += k.Count
	}
	for _, b := range o.Bodies {
		bodies := a.class(sizeClass(b.mean()))
		bodies.Count += b.Count
		bodies.Bytes += b.Bytes
	}
	if o.Redirects > 0 && (a.Redirects == 0 || o.Location < a.Location) {
		a.Location = o.Location
	}
	a.Checked += o.Checked
	a.Redirects += o.Redirects
}

// Count returns the number of answers; nil has none.
func (a *Answers) Count() (count int64) {
	if a == nil {
		return 0
	}
	for _, k := range a.Kinds {
		count += k.Count
	}
	return count
}

// BodyQuantile returns the length in bytes, within 3.2%, that a share q of the bodies
// do not exceed (nearest rank); 0 without any.
func (a *Answers) BodyQuantile(q float64) int64 {
	rank := q * float64(a.Count())
	seen := int64(0)
	for _, b := range a.Bodies {
		if seen += b.Count; float64(seen) >= rank {
			return b.mean()
		}
	}
	return 0
}
