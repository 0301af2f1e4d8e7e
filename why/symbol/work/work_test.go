package work

import (
	"slices"
	"strings"
	"testing"
)

// Each line of the tables has an example, which no earlier line of its table takes.
func TestRules(t *testing.T) {
	kinds := map[Kind]int{}
	for _, table := range slices.Concat(golang(), kernel(), libraries(), programs()) {
		for i, r := range table.rules {
			kinds[r.kind]++
			if r.name == "" || r.name == "*" || strings.Contains(strings.TrimSuffix(r.name, "*"), "*") && !strings.Contains(r.name, "(*") {
				t.Errorf("%s: %q: a * stands at the end, behind something", table.name, r.name)
			}
			if r.kind == "" || strings.HasSuffix(r.example, "*") {
				t.Errorf("%s: %q has no kind or no example", table.name, r.name)
			}
			switch first := slices.IndexFunc(table.rules, func(o rule) bool { return o.matches(r.example) }); {
			case first < 0:
				t.Errorf("%s: %q does not match its example %q", table.name, r.name, r.example)
			case first < i:
				t.Errorf("%s: %q, the example of %q, is taken by %q before", table.name, r.example, r.name, table.rules[first].name)
			}
		}
	}
	known := []Kind{Scheduling, Collection, Allocation, Stacks, Copying, Locks, Channels, Maps, SystemCalls, Polling, Network, Files, HTTP, RPC,
		JSON, Encoding, Cryptography, Hashing, Compression, Regexps, Logging, Templates, Text, Sorting, Reflection, Time, Panics, Database, Interpreting,
		Compiling, Loading, Runtime, Faults, Interrupts, Kernel}
	for kind := range kinds {
		if !slices.Contains(known, kind) {
			t.Errorf("%q is not a kind", kind)
		}
	}
}

// The tables are asked in an order in which none takes the examples of another, and hold in all
// of their files.
func TestOf(t *testing.T) {
	for _, table := range slices.Concat(golang(), kernel(), programs()) {
		if table.in == nil {
			table.in = []string{"program"}
		}
		for _, file := range table.in {
			file = strings.TrimSuffix(file, "*")
			for _, r := range table.rules {
				if got := Of(r.example, file); got != r.kind {
					t.Errorf("%s in %s: %q, want %q", r.example, file, got, r.kind)
				}
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
		// Code that is linked into a program.
		{"malloc", "shopd", Allocation},
		{"_int_malloc", "shopd", Allocation},
		{"memcpy", "shopd", Copying},
		{"__memmove_avx_unaligned_erms", "shopd", Copying},
		{"pthread_mutex_lock", "shopd", Locks},
		{"sem_wait", "shopd", Locks},
		{"statx", "shopd", Files},
		{"epoll_wait", "shopd", Polling},
		{"sendmsg", "shopd", Network},
		{"inflate", "shopd", Compression},
		{"inflate_fast", "shopd", Compression},
		{"SSL_read", "shopd", Cryptography},
		{"PQexec", "shopd", Database},
		{"je_malloc", "redis-server", Allocation},
		{"crc32_z", "shopd", Hashing},
		{"core::ptr::drop_in_place<alloc::string::String>", "shopd", Allocation},
		{"__rust_alloc", "shopd", Allocation},
		{"std::_Hashtable<int>::find", "shopd", Maps},
		{"ring::aead::aes_gcm::seal", "shopd", Cryptography},
		{"log::__private_api::log_impl", "shopd", Logging},
		// Code with such names in its own files.
		{"set_add_entry", "libpython3.11.so.1.0", Maps},
		{"visit_reachable", "python3.12", Collection},
		{"tuple_dealloc", "python", Allocation},
		{"malloc", "python3.12", Allocation},
		{"mi_page_malloc", "libpython3.13.so.1.0", Allocation},
		{"memalign", "libc.so.6", Allocation},
		{"build_tree", "libz.so.1.2.13", Compression},
		{"longest_match", "node", Compression},
		{"crc32_z", "libz.so.1", Hashing},
		{"PSScavenge::invoke", "libjvm.so", Collection},
		{"v8::internal::Heap::CollectGarbage", "node", Collection},
		{"uv__read", "libuv.so.1.0.0", Network},
		{"SSL_select_next_proto", "libssl.so.3", Cryptography},
		{"SHA3_squeeze", "libcrypto.so.3", Hashing},
		{"PQclear", "libpq.so.5", Database},
		{"ngx_http_process_request", "nginx", HTTP},
		{"mempcpy", "libc-2.31.so", Copying},
		{"statfs64", "libc.so.6", Files},
		{"malloc_info", "ld-musl-x86_64.so.1", Allocation},
		{"set_price", "python3.12", Maps}, // which only the interpreter can have
		{"set_price", "shop.cpython-312-x86_64-linux-gnu.so", ""},
		{"scan_once_unicode", "_json.cpython-312-x86_64-linux-gnu.so", JSON},
		// Functions that a runtime made are not in any language's manner.
		{"RegExp:x+y", "[jit]", Regexps},
		{"io.netty.channel.Channel::write", "[jit]", ""},
		{"read", "[jit]", ""},
	}
	for _, tt := range tests {
		if got := Of(tt.function, tt.in); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.function, tt.in, got, tt.want)
		}
	}
}

// A user's own functions are of no kind, whatever libraries call theirs.
func TestOwnFunctions(t *testing.T) {
	for _, function := range strings.Fields(`set_price set_header visit_order subtract_refs PSI_step build_tree inflate_price
		longest_match compress_block PQ_pop SHARE_price aes_key ring::Buffer::push log::Book::find status_page statistics member_of memoize
		send_reply clone_cart tuple_hash dict_load unicode_table G1_price PyramidBuilder::add Phase::next Compile::run Interpreter
		node::Graph::visit uv_map malloced_size realloc_cart tc_total mi_rate je_ne tcache_of arena_get mmapped stringify strlen_of
		sem_open_shop sched_shop epoll_shop accept_order sender receiver recv_order preader pwriter openat_shop statement fopen_shop
		freader fwriter clock_tick localtime_of printf_shop strtok_shop qsort_orders SSL_price ssl_state gcm_price bn_price BN_price
		ecp_price MD5sum EVP_price AES_price deflate_price ngx_price pcre_price grpc_price snappy::Cart::add fmt::value
		http::Shop::serve tower::Game::step hyper::Cart::add regex_price tracing_on tonic::Scale::play serde_shop flume::Water::flow
		futures_price rayon_price h2::Reactor::step mio::Cart::add core::strategy::run core::format_all alloc::strategy alloc::vector::add`) {
		for _, file := range []string{"shopd", "libshop.so.1", ""} {
			if got := Of(function, file); got != "" {
				t.Errorf("%s in %s: %q", function, file, got)
			}
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
