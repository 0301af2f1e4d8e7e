package pprof

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// What a profile may become: two bytes of one are a sample or a function, and a stack names places that
// have any number of functions.
const (
	// mostMemory bounds roughly what a profile takes while it is compared with another: a part (a sample, a
	// place, a function, a text) takes ofPart and a number in it ofNumber. A profile of the heap with 20 000
	// stacks of 30 functions takes about 90 MiB.
	mostMemory = 256 << 20
	ofPart     = 512
	ofNumber   = 32
	// mostFrames bounds the functions of all stacks together, deepest those of one: the runtime tells
	// no more, and without being asked to 128 (maxProfStackDepth of its mprof.go).
	mostFrames = 1_000_000
	deepest    = 1024
)

// The fields of a profile that are read (https://github.com/google/pprof/blob/main/proto/profile.proto).
const (
	fieldSample = 2
	fieldText   = 6
)

var (
	fieldsOfProfile = []protowire.Number{1, fieldSample, 4, 5, fieldText, 10, 11} // types of values, places, functions, length, period
	fieldsOfSample  = []protowire.Number{1, 2}                                    // places, values
)

// pared returns what is read of a profile, in its form: labels and mappings are not, which would be work
// for nothing. The error says that it would become too large.
func pared(plain []byte) ([]byte, error) {
	memory := 0
	return filtered(plain, fieldsOfProfile, func(number protowire.Number, kind protowire.Type, field []byte) ([]byte, error) {
		memory += ofPart
		if number == fieldSample && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(field)
			body, _ := protowire.ConsumeBytes(field[tag:])
			var err error
			if body, err = filtered(body, fieldsOfSample, nil); err != nil {
				return nil, err
			}
			field = protowire.AppendBytes(protowire.AppendTag(nil, number, kind), body)
		}
		if number != fieldText {
			memory += ofNumber * numbers(field)
		}
		if memory > mostMemory {
			return nil, fmt.Errorf("it would take more than %d MiB of memory", mostMemory>>20)
		}
		return field, nil
	})
}

// filtered has those fields of a message that are among some, each as changed where that is not nil.
func filtered(message []byte, some []protowire.Number, changed func(protowire.Number, protowire.Type, []byte) ([]byte, error)) ([]byte, error) {
	kept := make([]byte, 0, len(message))
	for len(message) > 0 {
		number, kind, length := protowire.ConsumeField(message)
		if length < 0 {
			return nil, protowire.ParseError(length)
		}
		field := message[:length]
		message = message[length:]
		if !slices.Contains(some, number) {
			continue
		}
		if changed != nil {
			var err error
			if field, err = changed(number, kind, field); err != nil {
				return nil, err
			}
		}
		kept = append(kept, field...)
	}
	return kept, nil
}

// numbers are at most so many in a field: each ends with a byte below 128.
func numbers(field []byte) (n int) {
	for _, b := range field {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// tooLarge says what of a valid profile would be too much work: many functions may share a long name,
// and many stacks places that are deep.
func tooLarge(p *profile.Profile) error {
	names, frames := 0, 0
	for _, f := range p.Function {
		names += len(f.Name) + len(f.SystemName) + len(f.Filename)
	}
	if names > mostBytes {
		return fmt.Errorf("its functions have names of more than %d MiB", mostBytes>>20)
	}
	for _, s := range p.Sample {
		depth := 0
		for _, l := range s.Location {
			depth += max(1, len(l.Line))
		}
		if depth > deepest {
			return fmt.Errorf("one of its stacks has more than %d functions", deepest)
		}
		if frames += depth; frames > mostFrames {
			return fmt.Errorf("its stacks have more than %d functions together", mostFrames)
		}
	}
	return nil
}
