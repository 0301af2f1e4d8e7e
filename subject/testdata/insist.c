// Answers "C" on the port of argv[1], on all addresses, one connection after another.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = INADDR_ANY};
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 16) != 0)
		return 1;
	for (;;) {
		char request[4096];
		const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nC";
		int conn = accept(listener, NULL, NULL);
		if (conn < 0)
			return 1;
		if (read(conn, request, sizeof request) > 0)
			write(conn, answer, strlen(answer));
		close(conn);
	}
}
