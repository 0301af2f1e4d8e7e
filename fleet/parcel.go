package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// A parcel is content that may be more than a message holds: whoever has it sends it piece by piece, as
// it is asked to.
type parcel struct {
	Size   int    `json:"size"`
	Digest string `json:"digest"` // SHA-256
}

// maxMessage bounds a message, as NATS servers do by default, and piece what part of a parcel goes into
// one. The first piece of a result comes unasked, and is shorter: what a thousand workers send at once is
// then less than what a server keeps for one client, 64 MiB. mostContent bounds what anybody can be made
// to keep.
const (
	maxMessage  = 1 << 20
	piece       = maxMessage / 2
	firstPiece  = 32 << 10
	mostContent = 64 << 20
)

func parcelOf(content []byte) parcel {
	sum := sha256.Sum256(content)
	return parcel{len(content), hex.EncodeToString(sum[:])}
}

// pieceAt returns the piece of content at an offset, which may be anybody's; nil past the end.
func pieceAt(content []byte, offset int) []byte {
	if offset < 0 || offset >= len(content) {
		return nil
	}
	return content[offset:min(len(content), offset+piece)]
}

// collect returns the content of a parcel that begins with a piece, if it has come already. next asks for that at
// an offset.
func (p parcel) collect(first []byte, next func(offset int) ([]byte, error)) ([]byte, error) {
	if p.Size < 0 || p.Size > mostContent {
		return nil, fmt.Errorf("%d bytes; expected at most %d", p.Size, mostContent)
	}
	content := first
	for len(content) < p.Size {
		more, err := next(len(content))
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			return nil, fmt.Errorf("%d bytes instead of %d", len(content), p.Size)
		}
		content = append(content, more...)
	}
	if parcelOf(content) != p {
		return nil, errors.New("other bytes than were sent: the digest is not theirs")
	}
	return content, nil
}
