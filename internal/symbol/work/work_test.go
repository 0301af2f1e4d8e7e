package work

import (
	"slices"
	"strings"
	"testing"
)

// Each line of the tables has an example, which no earlier line of its table takes.
func TestRules(t *testing.T) {
	tables := map[string][]rule{"go": goRules, "native": nativeRules, "managed": managedRules, "library": libraryRules, "kernel": kernelRules}
	for table, rules := range tables {
		for i, r := range rules {
			if r.name == "" || r.name == "*" || strings.Contains(strings.TrimSuffix(r.name, "*"), "*") && !strings.Contains(r.name, "(*") {
				t.Errorf("%s: %q: a * stands at the end, behind something", table, r.name)
			}
			if r.kind == "" {
				t.Errorf("%s: %q has no kind", table, r.name)
			}
			switch first := slices.IndexFunc(rules, func(o rule) bool { return o.matches(r.example) }); {
			case first < 0:
				t.Errorf("%s: %q does not match its example %q", table, r.name, r.example)
			case first < i:
				t.Errorf("%s: %q, the example of %q, is taken by %q before", table, r.example, r.name, rules[first].name)
			}
		}
	}
}

// The tables are asked in an order in which none takes the examples of another.
func TestOf(t *testing.T) {
	for _, rules := range [][]rule{goRules, nativeRules, managedRules} {
		for _, r := range rules {
			if got := Of(r.example, "program"); got != r.kind {
				t.Errorf("%s: %q, want %q", r.example, got, r.kind)
			}
		}
	}
	tests := []struct {
		function, in string
		want         Kind
	}{
		{"main.handle", "main", ""},
		{"", "", ""},
		{"runtime.mallocgc", "runtime", Allocation},
		{"runtime.mallocgc", "kernel", Kernel}, // of the kernel, only its own table counts
		{"tcp_sendmsg", "kernel", Network},
		{"tcp_sendmsg", "server", ""},
		{"nft_do_chain", "kernel/nf_tables", Network},
		{"[kernel]", "kernel", Kernel},
		{"", "kernel", Kernel},
		{"<tokio::runtime::park::Inner as core::ops::drop::Drop>::drop", "server", Scheduling},
		{"<&str as alloc::string::ToString>::to_string", "server", ""},
		{"malloc", "libc.so.6", Allocation},
		{"sender/mail.Send", "sender/mail", ""}, // not of the system
		{"sendmsg", "libc.so.6", Network},
		{"freeaddrinfo", "libc.so.6", Runtime}, // not free
		{"__GI___pthread_mutex_unlock_usercnt", "libc.so.6", Locks},
		{"", "libcrypto.so.3", Cryptography},
		{"some_static_function", "libcrypto.so.3", Cryptography},
		{"EVP_DigestUpdate", "libcrypto.so.3", Cryptography},
		{"LazyCompile:*handle /app/server.js:12", "[jit]", ""},
	}
	for _, tt := range tests {
		if got := Of(tt.function, tt.in); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.function, tt.in, got, tt.want)
		}
	}
}

func TestSystemCall(t *testing.T) {
	for function, want := range map[string]string{"__x64_sys_write": "write", "__arm64_sys_epoll_pwait": "epoll_pwait", "do_syscall_64": "", "ksys_write": "", "": ""} {
		if got, ok := SystemCall(function); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", function, got, ok, want)
		}
	}
}
