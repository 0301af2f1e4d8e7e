// Two threads wait: one for a lock that main holds, one for a time. main says so and waits for a signal.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void take(void) {
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void pause_long(void) {
	struct timespec t = {3600, 0};
	while (nanosleep(&t, NULL) == 0) {
	}
	asm volatile("");
}

static void *taker(void *arg) {
	take();
	asm volatile("");
	return arg;
}

static void *sleeper(void *arg) {
	pause_long();
	asm volatile("");
	return arg;
}

int main(void) {
	pthread_t one, two;
	pthread_mutex_lock(&lock);
	pthread_create(&one, NULL, taker, NULL);
	pthread_create(&two, NULL, sleeper, NULL);
	puts("waiting");
	fflush(stdout);
	pause();
}
