package symbol

import (
	"encoding/hex"
	"testing"
)

// Each call of x86-64 is seen, after whatever came before it, and nothing else is one.
func TestEndsWithCall(t *testing.T) {
	for code, want := range map[string]bool{
		"9090e800100000": true,  // call 0x1000 from here
		"9090909090ffd0": true,  // call *%rax
		"9090909041ffd4": true,  // call *%r12
		"90909090ff5308": true,  // call *8(%rbx)
		"9090909090ff13": true,  // call *(%rbx)
		"90909090ff1424": true,  // call *(%rsp)
		"909090ff542408": true,  // call *8(%rsp)
		"90ff1500100000": true,  // call *0x1000(%rip)
		"90ff9300010000": true,  // call *0x100(%rbx)
		"ff142500100000": true,  // call *0x1000
		"ff94cb00010000": true,  // call *0x100(%rbx,%rcx,8)
		"90909090909090": false, // nop
		"9090909090ffe0": false, // jmp *%rax
		"90909090ff3308": false, // push (%rbx), and more
		"9090e900100000": false, // jmp
		"9090909090ff53": false, // call *…(%rbx), cut off
		"ffffffffffffff": false,
	} {
		bytes, err := hex.DecodeString(code)
		if err != nil {
			t.Fatal(code, err)
		}
		if got := endsWithCall(bytes); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
}
