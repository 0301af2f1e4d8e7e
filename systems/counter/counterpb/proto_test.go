package counterpb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"contend/systems/counter/counterpb"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const name = "counter.proto"

// compile returns what a .proto file says, comments included.
func compile(t *testing.T, source string) protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{name: source})},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// The published contract, which clients were generated from.
const published = `counter proto3
counter.incrementCounter.increment(counter.incrementBy) returns (counter.status)
counter.incrementBy.value int32 = 1
counter.status.message string = 1
`

// contract is what a client depends on.
func contract(file protoreflect.FileDescriptor) string {
	var b strings.Builder
	fmt.Fprintln(&b, file.Package(), file.Syntax())
	for service := range all(file.Services()) {
		for m := range all(service.Methods()) {
			form := "%s(%s) returns (%s)\n"
			if m.IsStreamingClient() || m.IsStreamingServer() {
				form = "%s(%s) streams (%s)\n"
			}
			fmt.Fprintf(&b, form, m.FullName(), m.Input().FullName(), m.Output().FullName())
		}
	}
	for message := range all(file.Messages()) {
		for f := range all(message.Fields()) {
			fmt.Fprintf(&b, "%s %s = %d\n", f.FullName(), f.Kind(), f.Number())
		}
	}
	return b.String()
}

// all ranges over one of protoreflect's lists.
func all[D any](list interface {
	Len() int
	Get(i int) D
}) func(yield func(D) bool) {
	return func(yield func(D) bool) {
		for i := range list.Len() {
			if !yield(list.Get(i)) {
				return
			}
		}
	}
}

// lint returns what is wrong with the form of a file: an element without a
// comment that begins with its name, or field numbers that are not 1, 2, 3 ….
func lint(file protoreflect.FileDescriptor) (wrong []string) {
	comment := func(d protoreflect.Descriptor) {
		text := file.SourceLocations().ByDescriptor(d).LeadingComments
		if !strings.HasPrefix(text, " "+string(d.Name())+" ") {
			wrong = append(wrong, fmt.Sprintf("%s: comment %q", d.FullName(), text))
		}
	}
	if len(file.SourceLocations().ByPath(protoreflect.SourcePath{12}).LeadingComments) == 0 { // 12: syntax
		wrong = append(wrong, "the file has no comment")
	}
	for service := range all(file.Services()) {
		comment(service)
		for m := range all(service.Methods()) {
			comment(m)
		}
	}
	for message := range all(file.Messages()) {
		comment(message)
		var numbers []int
		for f := range all(message.Fields()) {
			comment(f)
			numbers = append(numbers, int(f.Number()))
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != i+1 {
				wrong = append(wrong, fmt.Sprintf("%s: field numbers %v", message.FullName(), numbers))
				break
			}
		}
	}
	return wrong
}

func TestContractIsAsPublished(t *testing.T) {
	if got := contract(compile(t, counterpb.Source)); got != published {
		t.Errorf("the contract is\n%s\npublished is\n%s", got, published)
	}
}

func TestSourceIsInForm(t *testing.T) {
	for _, wrong := range lint(compile(t, counterpb.Source)) {
		t.Error(wrong)
	}
}

// The generated code was generated from this source.
func TestGeneratedCodeIsFresh(t *testing.T) {
	want := protodesc.ToFileDescriptorProto(compile(t, counterpb.Source))
	want.SourceCodeInfo = nil
	if got := protodesc.ToFileDescriptorProto(counterpb.File_counter_proto); !proto.Equal(got, want) {
		t.Errorf("generated is\n%v\nthe source says\n%v", got, want)
	}
}

// The checks find what they must find.
func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		breaks         string // the checks that it breaks
	}{
		{"no comment of the file", "\nsyntax", "\n\nsyntax", "lint"},
		{"no comment of a message", "// incrementBy is", "// This is", "lint"},
		{"no comment of a field", "  // value is 0 or more; 0 changes nothing and tells the value.\n", "", "lint"},
		{"a gap in the numbers", "message = 1", "message = 3", "lint contract"},
		{"another type", "int32 value", "int64 value", "contract"},
		{"another name", "rpc increment(", "rpc add(", "lint contract"},
		{"a stream", "returns (status)", "returns (stream status)", "contract"},
		{"another package", "package counter;", "package counters;", "contract"},
	} {
		source := strings.Replace(counterpb.Source, tt.old, tt.new, 1)
		if source == counterpb.Source {
			t.Errorf("%s: nothing to break", tt.name)
		}
		file := compile(t, source)
		var broken []string
		if len(lint(file)) > 0 {
			broken = append(broken, "lint")
		}
		if contract(file) != published {
			broken = append(broken, "contract")
		}
		if got := strings.Join(broken, " "); got != tt.breaks {
			t.Errorf("%s: breaks %q, want %q", tt.name, got, tt.breaks)
		}
	}
}
