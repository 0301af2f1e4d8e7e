package work

import "slices"

// cppRules are the functions of C++ and its runtime.
var cppRules = []rule{
	{"operator new*", Allocation, "operator new[]"},
	{"operator delete*", Allocation, "operator delete"},
	{"std::mutex*", Locks, "std::mutex::lock"},
	{"std::condition_variable*", Locks, "std::condition_variable::wait"},
	{"std::sort*", Sorting, "std::sort<int*>"},
	{"std::__introsort_loop*", Sorting, "std::__introsort_loop<int*>"},
	{"std::__adjust_heap*", Sorting, "std::__adjust_heap<int*>"},
	{"std::_Hashtable*", Maps, "std::_Hashtable<int>::find"},
	{"std::unordered_*", Maps, "std::unordered_map<int, int>::operator[]"},
	{"std::__detail::_Map_base*", Maps, "std::__detail::_Map_base<int>::operator[]"},
	{"std::_Rb_tree*", Maps, "std::_Rb_tree_insert_and_rebalance"},
	{"std::map*", Maps, "std::map<int, int>::find"},
	{"std::_Hash_bytes", Hashing, "std::_Hash_bytes"},
	{"std::__detail::_Executor*", Regexps, "std::__detail::_Executor<char>::_M_dfs"},
	{"std::basic_string*", Text, "std::basic_string_view<char>::find"},
	{"std::string*", Text, "std::string::append"},
	{"std::__cxx11::basic_string*", Text, "std::__cxx11::basic_string<char>::_M_append"},
	{"std::__cxx11::*", Text, "std::__cxx11::basic_ostringstream<char>::str"},
	{"std::basic_ostream*", Text, "std::basic_ostream<char>::flush"},
	{"std::ostream*", Text, "std::ostream::_M_insert<long>"},
	{"std::istream*", Text, "std::istream::read"},
	{"std::to_chars*", Text, "std::to_chars"},
	{"std::chrono*", Time, "std::chrono::_V2::steady_clock::now"},
	{"std::atomic*", Locks, "std::atomic<int>::fetch_add"},
	{"__cxa_throw", Panics, "__cxa_throw"},
	{"__cxa_*", Panics, "__cxa_begin_catch"},
	{"_Unwind_*", Panics, "_Unwind_RaiseException"},
	{"__gxx_personality*", Panics, "__gxx_personality_v0"},
	{"std::ios*", Text, "std::ios_base::Init::Init"},
}

// nativeRules are the functions of libraries of C and C++ that may be linked into a program: names
// that can hardly be its own.
var nativeRules = []rule{
	{"je_arena_*", Allocation, "je_arena_tcache_fill_small"},
	{"je_tcache_*", Allocation, "je_tcache_bin_flush_small"},
	{"je_large_*", Allocation, "je_large_malloc"},
	{"tcmalloc::*", Allocation, "tcmalloc::ThreadCache::FetchFromCentralCache"},
	{"_mi_page_*", Allocation, "_mi_page_malloc"},
	{"_mi_heap_*", Allocation, "_mi_heap_realloc_zero"},
	{"nlohmann::*", JSON, "nlohmann::basic_json<>::dump"},
	{"rapidjson::*", JSON, "rapidjson::GenericReader<>::Parse"},
	{"simdjson::*", JSON, "simdjson::dom::parser::parse"},
	{"cJSON_*", JSON, "cJSON_Parse"},
	{"yyjson_*", JSON, "yyjson_read_opts"},
	{"google::protobuf::*", Encoding, "google::protobuf::MessageLite::SerializeToString"},
	{"boost::asio::*", Polling, "boost::asio::detail::epoll_reactor::run"},
	{"event_base_loop", Polling, "event_base_loop"},
	{"ev_run", Polling, "ev_run"},
	{"llhttp_*", HTTP, "llhttp_execute"},
	{"nghttp2_*", HTTP, "nghttp2_session_mem_recv"},
	{"ssl3_*", Cryptography, "ssl3_read_bytes"},
	{"sha256_*", Hashing, "sha256_block_data_order_avx2"},
	{"sha1_*", Hashing, "sha1_block_data_order"},
	{"sha512_*", Hashing, "sha512_block_data_order"},
	{"siphash*", Hashing, "siphash13"},
	{"crc32*", Hashing, "crc32_z"},
	{"adler32*", Hashing, "adler32_z"},
	{"ZSTD_*", Compression, "ZSTD_compressBlock_fast"},
	{"re2::*", Regexps, "re2::DFA::InlinedSearchLoop"},
	{"spdlog::*", Logging, "spdlog::logger::log_it_"},
	{"sqlite3*", Database, "sqlite3VdbeExec"},
	{"grpc_core::*", RPC, "grpc_core::Server::Start"},
	{"grpc::Server*", RPC, "grpc::ServerInterface::RegisteredAsyncRequest::FinalizeResult"},
	{"grpc::internal::*", RPC, "grpc::internal::CallOpSendMessage::AddOp"},
	{"tls13_*", Cryptography, "tls13_enc"},
	{"tls12_*", Cryptography, "tls12_check_peer_sigalg"},
	{"tls1_*", Cryptography, "tls1_enc"},
	{"SHA1_*", Hashing, "SHA1_Update"},
	{"SHA224_*", Hashing, "SHA224_Final"},
	{"SHA256_*", Hashing, "SHA256_Update"},
	{"SHA384_*", Hashing, "SHA384_Final"},
	{"SHA512_*", Hashing, "SHA512_Update"},
	{"MD5_*", Hashing, "MD5_Update"},
	{"EVP_Digest*", Cryptography, "EVP_DigestUpdate"},
	{"EVP_Encrypt*", Cryptography, "EVP_EncryptUpdate"},
	{"EVP_Decrypt*", Cryptography, "EVP_DecryptUpdate"},
	{"EVP_Cipher*", Cryptography, "EVP_CipherUpdate"},
	{"EVP_PKEY_*", Cryptography, "EVP_PKEY_sign"},
	{"aesni_*", Cryptography, "aesni_ctr32_encrypt_blocks"},
	{"vpaes_*", Cryptography, "vpaes_encrypt"},
	{"gcm_ghash_*", Cryptography, "gcm_ghash_avx"},
	{"ChaCha20_*", Cryptography, "ChaCha20_ctr32"},
	{"ecp_nistz256_*", Cryptography, "ecp_nistz256_mul_montx"},
	{"bn_mul_mont*", Cryptography, "bn_mul_mont"},
	{"BN_mod_exp*", Cryptography, "BN_mod_exp_mont"},
	{"XXH32_*", Hashing, "XXH32_digest"},
	{"XXH64_*", Hashing, "XXH64_update"},
	{"XXH3_*", Hashing, "XXH3_64bits_update"},
	{"deflateInit*", Compression, "deflateInit2_"},
	{"inflateInit*", Compression, "inflateInit2_"},
	{"HUF_compress*", Compression, "HUF_compress4X_usingCTable"},
	{"HUF_decompress*", Compression, "HUF_decompress4X1_usingDTable_internal"},
	{"FSE_compress*", Compression, "FSE_compress_usingCTable"},
	{"FSE_decompress*", Compression, "FSE_decompress_wksp"},
	{"LZ4_compress*", Compression, "LZ4_compress_fast"},
	{"LZ4_decompress*", Compression, "LZ4_decompress_safe"},
	{"LZ4F_*", Compression, "LZ4F_compressUpdate"},
	{"snappy::Raw*", Compression, "snappy::RawUncompress"},
	{"snappy::internal::*", Compression, "snappy::internal::CompressFragment"},
	{"Brotli*", Compression, "BrotliEncoderCompressStream"},
	{"pcre2_*", Regexps, "pcre2_match_8"},
	{"pcre_exec*", Regexps, "pcre_exec"},
	{"fmt::v8::*", Text, "fmt::v8::vformat"},
	{"fmt::v9::*", Text, "fmt::v9::vformat"},
	{"fmt::v10::*", Text, "fmt::v10::detail::vformat_to<char>"},
	{"fmt::v11::*", Text, "fmt::v11::vformat"},
	{"fmt::v12::*", Text, "fmt::v12::vformat"},
	{"PQexec*", Database, "PQexecParams"},
	{"PQsendQuery*", Database, "PQsendQueryPrepared"},
	{"PQgetResult", Database, "PQgetResult"},
	{"PQconsumeInput", Database, "PQconsumeInput"},
	{"uv__io_poll", Polling, "uv__io_poll"},
	{"uv__stream_io", Network, "uv__stream_io"},
	{"uv_run", Polling, "uv_run"},
}

// nativeNames are whole names of such functions.
var nativeNames = slices.Concat(
	named(Allocation, `je_malloc je_calloc je_realloc je_free je_sdallocx je_mallocx je_malloc_default je_free_default tc_malloc tc_calloc tc_realloc tc_free tc_new
		tc_newarray tc_delete tc_deletearray mi_malloc mi_zalloc mi_calloc mi_realloc mi_free mi_new _mi_malloc_generic`),
	named(Compression, `deflate deflateEnd deflateReset deflate_fast deflate_slow deflate_stored inflate inflateEnd inflateReset inflate_fast inflate_table
		pqdownheap _tr_flush_block _tr_stored_block _tr_flush_bits _tr_align _tr_tally compress2 uncompress2`),
	named(Cryptography, `SSL_read SSL_read_ex SSL_write SSL_write_ex SSL_accept SSL_connect SSL_do_handshake SSL_shutdown
		AES_encrypt AES_decrypt AES_cbc_encrypt AES_set_encrypt_key AES_set_decrypt_key`),
	named(Hashing, `SHA1 SHA256 SHA512 SHA1Init SHA1Update SHA1Final SHA1Transform MD5 MD5Update MD5Final MD5Transform XXH32 XXH64 XXH3_64bits`),
)

// mimallocFiles are an allocator and Python, which has it within it since 3.13.
var mimallocFiles = slices.Concat([]string{"libmimalloc*"}, pythonFiles)

var mimallocRules = []rule{
	{"mi_*", Allocation, "mi_page_free_list_extend"},
	{"_mi_*", Allocation, "_mi_segment_page_alloc"},
}

// zlibFiles are zlib and the runtimes that have it within them.
var zlibFiles = slices.Concat([]string{"libz.so*", "libz-ng.so*"}, nodeFiles, pythonFiles)

var zlibRules = []rule{
	{"deflate*", Compression, "deflate_fast"},
	{"inflate*", Compression, "inflate_fast"},
	{"pqdownheap", Compression, "pqdownheap"},
	{"build_tree", Compression, "build_tree"},
	{"_tr_*", Compression, "_tr_flush_block"},
	{"compress_block", Compression, "compress_block"},
	{"longest_match*", Compression, "longest_match"},
}

// opensslFiles are OpenSSL and the runtimes that have it within them.
var opensslFiles = slices.Concat([]string{"libcrypto*", "libssl*"}, nodeFiles, pythonFiles)

var opensslRules = []rule{
	{"SSL_*", Cryptography, "SSL_read"},
	{"SHA*", Hashing, "SHA256_Update"},
	{"MD5*", Hashing, "MD5_Update"},
	{"EVP_*", Cryptography, "EVP_EncryptUpdate"},
	{"AES_*", Cryptography, "AES_encrypt"},
	{"aes*", Cryptography, "aesni_ctr32_encrypt_blocks"},
	{"gcm_*", Cryptography, "gcm_ghash_avx"},
	{"ecp_*", Cryptography, "ecp_nistz256_mul_montx"},
	{"bn_*", Cryptography, "bn_mul_mont"},
	{"BN_*", Cryptography, "BN_mod_exp_mont"},
}

// nginxFiles are the server alone: a module that is loaded into it may be the user's own.
var nginxFiles = []string{"nginx", "nginx-debug", "openresty", "angie"}

var nginxRules = []rule{
	{"ngx_http_*", HTTP, "ngx_http_process_request"},
	{"ngx_epoll_*", Polling, "ngx_epoll_process_events"},
	{"ngx_*", Network, "ngx_recv"},
}
