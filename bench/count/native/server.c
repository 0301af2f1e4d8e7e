// A server of HTTP/1.1 with a thread for each connection, whose requests cost what those of the server in Go cost:
// server HOST PORT PLACE TURNS.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { turns = 100, longest_head = 8192 };

#define PLACE(number, begin)                                                                       \
	__attribute__((noinline)) static uint64_t place##number(volatile long *n)                  \
	{                                                                                          \
		uint64_t x = begin;                                                                \
		for (long left = *n; left > 0; left--) {                                           \
			x = x * 31 + 7;                                                            \
			__asm__ volatile("" : "+r"(x)); /* the compiler leaves each turn as it is */ \
		}                                                                                  \
		return x;                                                                          \
	}
PLACE(0, 1)
PLACE(1, 2)
PLACE(2, 3)
PLACE(3, 4)

static uint64_t (*places[])(volatile long *) = {place0, place1, place2, place3};
static long place, more;

static void *serve(void *connection)
{
	int conn = (int)(intptr_t)connection;
	char head[longest_head + 1], text[128];
	size_t have = 0;
	for (;;) {
		ssize_t got = read(conn, head + have, longest_head - have);
		if (got <= 0)
			break;
		head[have += got] = 0;
		if (!strstr(head, "\r\n\r\n"))
			continue;
		have = 0; // callers wait for their response: nothing follows a head
		uint64_t sum = 0;
		for (long i = 0; i < 4; i++) {
			volatile long n = turns + (i == place ? more : 0);
			sum += places[i](&n);
		}
		int size = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", (int)(sum % 10));
		if (write(conn, text, size) != size)
			break;
	}
	close(conn);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	if (argc != 5 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1) {
		fprintf(stderr, "usage: server HOST PORT PLACE TURNS\n");
		return 2;
	}
	at.sin_port = htons(atoi(argv[2]));
	place = atol(argv[3]), more = atol(argv[4]);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 128) != 0) {
		perror("listen");
		return 1;
	}
	for (;;) {
		pthread_t thread;
		int conn = accept(listener, NULL, NULL);
		if (conn >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)conn) == 0)
			pthread_detach(thread);
	}
}
