// A server of HTTP/1.1 with a thread for each connection. Every request costs some 40 µs of
// arithmetic, and what the planted cause adds.
//
//	planted none|hashing|lock|fsync HOST PORT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { base_work = 20000, page_size = 1024, requests_per_sync = 50, longest_head = 8192 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static __attribute__((noinline)) uint64_t iterate(int n)
{
	uint64_t x = 88172645463325252;
	while (n--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

// The hash is FNV-1a (Fowler, Noll, Vo), of 64 bits.
static __attribute__((noinline)) uint64_t fingerprint(const unsigned char *page, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ page[i]) * 0x100000001b3;
	return hash;
}

static unsigned char page[page_size];
static int file;
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static atomic_long requests;
static atomic_ulong kept; // no work is for nothing

static uint64_t plain(void)
{
	return iterate(base_work);
}

static uint64_t hashing(void)
{
	for (int i = 0; i < 4; i++)
		kept += fingerprint(page, sizeof page);
	return plain();
}

static uint64_t lock(void)
{
	pthread_mutex_lock(&contended);
	uint64_t answer = plain();
	usleep(20); // as for an answer that is waited for with the lock held
	pthread_mutex_unlock(&contended);
	return answer;
}

static uint64_t sync_some(void)
{
	if (atomic_fetch_add(&requests, 1) % requests_per_sync == 0 && (pwrite(file, "x", 1, 0) != 1 || fsync(file) != 0))
		fail("fsync");
	return plain();
}

static const struct { const char *name; uint64_t (*handle)(void); } causes[] = {
	{"none", plain}, {"hashing", hashing}, {"lock", lock}, {"fsync", sync_some},
};

static uint64_t (*handle)(void);

static int send_all(int conn, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t sent = write(conn, text, length);
		if (sent <= 0)
			return 0;
		text += sent;
		length -= sent;
	}
	return 1;
}

// answer answers a head, which ends in an empty line, and returns whether more may follow.
static int answer(int conn, const char *head)
{
	const char *line_end = strstr(head, "\r\n");
	int known = line_end - head >= 14 && strncmp(head, "GET /", 5) == 0 && strncmp(line_end - 9, " HTTP/1.1", 9) == 0;
	int close_after = !known;
	for (const char *field = line_end + 2; *field != '\r'; field = strstr(field, "\r\n") + 2) {
		if (strncasecmp(field, "Connection: close", 17) == 0)
			close_after = 1;
		if (strncasecmp(field, "Content-Length:", 15) == 0 || strncasecmp(field, "Transfer-Encoding:", 18) == 0)
			known = 0, close_after = 1; // a body would be taken for the next request
	}
	char body[64], text[256];
	int length = known ? snprintf(body, sizeof body, "{\"answer\":%d}", (int)(handle() & 0xff) | 0x100) : 0;
	int size = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%.*s",
		known ? "200 OK" : "400 Bad Request", length, close_after ? "Connection: close\r\n" : "", length, body);
	return send_all(conn, text, size) && !close_after;
}

static void *serve(void *connection)
{
	int conn = (int)(intptr_t)connection;
	char buf[longest_head + 1];
	size_t have = 0;
	for (int open = 1; open;) {
		buf[have] = 0;
		char *end = memmem(buf, have, "\r\n\r\n", 4);
		if (end) {
			size_t used = end + 4 - buf;
			char next = buf[used];
			buf[used] = 0; // have ≤ longest_head
			open = answer(conn, buf);
			buf[used] = next;
			memmove(buf, buf + used, have -= used);
			continue;
		}
		ssize_t got = have < longest_head ? read(conn, buf + have, longest_head - have) : 0;
		if (got <= 0)
			break;
		have += got;
	}
	close(conn);
	return NULL;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 4 && i < sizeof causes / sizeof *causes; i++)
		if (strcmp(argv[1], causes[i].name) == 0)
			handle = causes[i].handle;
	if (!handle) {
		fprintf(stderr, "usage: planted none|hashing|lock|fsync HOST PORT\n");
		return 2;
	}
	char name[] = "/tmp/plantedXXXXXX";
	if ((file = mkstemp(name)) < 0 || unlink(name) != 0)
		fail(name);
	signal(SIGPIPE, SIG_IGN);
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1 ||
	    bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, SOMAXCONN) != 0)
		fail(argv[2]);
	for (;;) {
		pthread_t thread;
		int conn = accept(listener, NULL, NULL);
		if (conn < 0 || pthread_create(&thread, NULL, serve, (void *)(intptr_t)conn) != 0)
			fail("accept");
		pthread_detach(thread);
	}
}
