// work serves jobs: `work PORT MODE K` reads a number of units from each connection to
// 127.0.0.1:PORT, has them done, and answers "done". A unit is a page fault and some
// thousand instructions. MODE says who does them:
//   alone      the first process
//   threads    K threads, for each job new ones
//   crowd      K threads that wait for jobs
//   processes  K children, for each job new ones
//   prefork    one of K children, which all listen
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int k;
static pthread_barrier_t begin, end;
static long share; // units of each of the crowd

static void check(int ok, const char *what) {
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void touch(long n) {
	const long most = 1000, page = sysconf(_SC_PAGESIZE);
	for (; n > 0; n -= most) {
		long size = (n < most ? n : most) * page;
		volatile char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(memory != MAP_FAILED, "mmap");
		madvise((void *)memory, size, MADV_NOHUGEPAGE);
		for (long at = 0; at < size; at += page) {
			unsigned x = at;
			for (int i = 0; i < 2000; i++)
				x = x * 5 + 1;
			memory[at] = x;
		}
		munmap((void *)memory, size);
	}
}

static void *once(void *n) {
	touch((long)n);
	return 0;
}

static void *again(void *unused) {
	for (;;) {
		pthread_barrier_wait(&begin);
		touch(share);
		pthread_barrier_wait(&end);
	}
	return unused;
}

static void alone(long n) { touch(n); }

static void threads(long n) {
	pthread_t all[k];
	for (int i = 0; i < k; i++)
		check(pthread_create(&all[i], 0, once, (void *)(n / k)) == 0, "pthread_create");
	for (int i = 0; i < k; i++)
		pthread_join(all[i], 0);
}

static void crowd(long n) {
	share = n / k;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
}

static void processes(long n) {
	for (int i = 0; i < k; i++) {
		pid_t child = fork();
		check(child >= 0, "fork");
		if (child == 0) {
			touch(n / k);
			_exit(0);
		}
	}
	while (wait(0) > 0)
		;
}

static void serve(int listener, void (*job)(long)) {
	for (;;) {
		char line[32] = "";
		int conn = accept(listener, 0, 0);
		check(conn >= 0, "accept");
		if (read(conn, line, sizeof line - 1) > 0) {
			job(atol(line));
			check(write(conn, "done\n", 5) == 5, "write");
		}
		close(conn);
	}
}

int main(int argc, char **argv) {
	check(argc == 4, "work PORT MODE K");
	k = atoi(argv[3]);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	check(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
	check(listen(listener, 16) == 0, "listen");
	if (strcmp(argv[2], "alone") == 0)
		serve(listener, alone);
	if (strcmp(argv[2], "threads") == 0)
		serve(listener, threads);
	if (strcmp(argv[2], "processes") == 0)
		serve(listener, processes);
	if (strcmp(argv[2], "crowd") == 0) {
		pthread_barrier_init(&begin, 0, k + 1);
		pthread_barrier_init(&end, 0, k + 1);
		for (int i = 0; i < k; i++) {
			pthread_t thread;
			check(pthread_create(&thread, 0, again, 0) == 0, "pthread_create");
		}
		serve(listener, crowd);
	}
	if (strcmp(argv[2], "prefork") == 0) {
		for (int i = 0; i < k; i++)
			if (fork() == 0)
				serve(listener, alone);
		while (wait(0) > 0)
			;
	}
	return 1;
}
