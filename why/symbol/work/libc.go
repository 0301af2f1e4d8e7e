package work

import (
	"slices"
	"strings"
)

// libcFiles are the C library and what it was cut into.
var libcFiles = []string{"libc.so*", "libc-2.*", "libc.musl*", "ld-musl*", "ld-linux*", "ld-2.*", "libpthread*", "librt*"}

// libcRules are what functions of the C library begin with. Others may begin so, too: in a program
// only whole names hold.
var libcRules = []rule{
	{"malloc*", Allocation, "malloc_consolidate"},
	{"realloc*", Allocation, "reallocarray"},
	{"tcache_*", Allocation, "tcache_init"},
	{"arena_get*", Allocation, "arena_get2"},
	{"mmap*", Allocation, "mmap64"},
	{"mem*", Copying, "memfrob"},
	{"wmem*", Copying, "wmemset"},
	{"strlen*", Copying, "strlen"},
	{"strcmp*", Copying, "strcmp"},
	{"strncmp*", Copying, "strncmp"},
	{"strchr*", Copying, "strchrnul"},
	{"strcpy*", Copying, "strcpy"},
	{"sem_*", Locks, "sem_wait"},
	{"clone*", Scheduling, "clone3"},
	{"sched_*", Scheduling, "sched_yield"},
	{"epoll_*", Polling, "epoll_wait"},
	{"accept*", Network, "accept4"},
	{"send*", Network, "sendmsg"},
	{"recv*", Network, "recvfrom"},
	{"pread*", SystemCalls, "pread64"},
	{"pwrite*", SystemCalls, "pwrite64"},
	{"fcntl*", SystemCalls, "fcntl64"},
	{"openat*", Files, "openat64"},
	{"stat*", Files, "statx"},
	{"fstat*", Files, "fstatat64"},
	{"fopen*", Files, "fopen64"},
	{"fread*", Files, "fread_unlocked"},
	{"fwrite*", Files, "fwrite_unlocked"},
	{"clock_*", Time, "clock_gettime"},
	{"localtime*", Time, "localtime_r"},
	{"strftime*", Time, "strftime_l"},
	{"printf*", Text, "printf"},
	{"vfprintf*", Text, "vfprintf"},
	{"strto*", Text, "strtod"},
	{"qsort*", Sorting, "qsort_r"},
}

// reservedRules are names that the C library keeps for itself, in programs that it is linked into, too.
var reservedRules = []rule{
	{"_int_free*", Allocation, "_int_free_merge_chunk"},
	{"__libc_malloc*", Allocation, "__libc_malloc2"},
	{"__mem*", Copying, "__memmove_avx_unaligned_erms"},
	{"__str*", Copying, "__strlen_avx2"},
	{"pthread_mutex_*", Locks, "pthread_mutex_lock"},
	{"__pthread_mutex_*", Locks, "__pthread_mutex_unlock_usercnt"},
	{"___pthread_mutex_*", Locks, "___pthread_mutex_lock"},
	{"pthread_rwlock_*", Locks, "pthread_rwlock_rdlock"},
	{"__pthread_rwlock_*", Locks, "__pthread_rwlock_unlock"},
	{"pthread_spin_*", Locks, "pthread_spin_lock"},
	{"pthread_cond_*", Locks, "pthread_cond_signal"},
	{"___pthread_cond_*", Locks, "___pthread_cond_wait"},
	{"__pthread_cond_*", Locks, "__pthread_cond_wait_common"},
	{"__lll_lock_*", Locks, "__lll_lock_wait"},
	{"__futex_*", Locks, "__futex_abstimed_wait_common64"},
	{"__syscall_cancel*", SystemCalls, "__syscall_cancel_arch"},
	{"pthread_*", Scheduling, "pthread_create"},
	{"__pthread_*", Scheduling, "__pthread_create_2_1"},
	{"__libc_send*", Network, "__libc_sendto"},
	{"__libc_recv*", Network, "__libc_recvmsg"},
	{"_IO_*", Files, "_IO_file_xsputn"},
	{"_dl_*", Loading, "_dl_relocate_object"},
	{"__vfprintf*", Text, "__vfprintf_internal"},
	{"__vsnprintf*", Text, "__vsnprintf_internal"},
	{"____strto*", Text, "____strtod_l_internal"},
	{"[plt]", Loading, "[plt]"},
}

// libcNames are functions of the C library, which a program that it is linked into has, too.
var libcNames = slices.Concat(
	named(Allocation, `malloc calloc realloc reallocarray free cfree memalign posix_memalign aligned_alloc valloc malloc_trim malloc_usable_size
		malloc_consolidate _int_malloc _int_memalign _int_realloc __libc_free __libc_calloc __libc_realloc __libc_memalign unlink_chunk sysmalloc systrim
		tcache_init tcache_get tcache_put arena_get2 arena_get_retry brk sbrk __brk __sbrk mmap mmap64 __mmap mremap munmap __munmap madvise __madvise`),
	named(Copying, `memcpy memmove memset memcmp memchr memrchr memmem memccpy mempcpy rawmemchr bcmp bcopy bzero explicit_bzero wmemcpy wmemmove wmemset wmemcmp wmemchr
		strlen strnlen strcmp strncmp strcasecmp strncasecmp strchr strchrnul strrchr strcpy strncpy stpcpy strcat strncat strstr strcasestr strspn strcspn strpbrk strdup strndup`),
	named(Locks, `sem_wait sem_timedwait sem_clockwait sem_trywait sem_post`),
	named(SystemCalls, `read write readv writev pread pread64 pwrite pwrite64 preadv pwritev __read __write __libc_read __libc_write ioctl fcntl fcntl64 close __close syscall
		__libc_enable_asynccancel __libc_disable_asynccancel __pthread_enable_asynccancel __pthread_disable_asynccancel __internal_syscall_cancel`),
	named(Scheduling, `clone clone3 __clone __clone3 sched_yield sched_setaffinity sched_getaffinity sched_getcpu`),
	named(Polling, `epoll_wait epoll_pwait epoll_pwait2 epoll_ctl epoll_create epoll_create1 poll ppoll select pselect`),
	named(Network, `accept accept4 connect send sendto sendmsg sendmmsg sendfile sendfile64 recv recvfrom recvmsg recvmmsg getaddrinfo setsockopt getsockopt`),
	named(Files, `open open64 openat openat64 stat stat64 statx fstat fstat64 lstat lstat64 fstatat fstatat64 fopen fopen64 fclose fread fread_unlocked fwrite fwrite_unlocked`),
	named(Time, `clock_gettime __clock_gettime clock_nanosleep gettimeofday nanosleep localtime localtime_r gmtime_r strftime strftime_l`),
	named(Loading, `do_lookup_x __tls_get_addr`),
	named(Text, `printf fprintf dprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf strtod strtof strtold strtol strtoul strtoll strtoull strtoimax strtoumax atoi atol atof`),
	named(Regexps, `regcomp regexec`),
	named(Sorting, `qsort qsort_r msort_with_tmp`),
)

// named are rules for whole names, which stand in a text with spaces between them.
func named(kind Kind, names string) []rule {
	var rules []rule
	for _, name := range strings.Fields(names) {
		rules = append(rules, rule{name, kind, name})
	}
	return rules
}
