// A program whose register of frames points to what looks like a frame, as where the compiler uses it for something else.
#include <stdio.h>

static void never(void) { puts("never"); }

static void *frame[2];

static __attribute__((noinline)) void burn(void) {
	for (int i = 0; i < 100; i++)
		__asm__ volatile("push %%rbp\n\tmov %0, %%rbp\n\tmov $10000000, %%rcx\n1:\tdec %%rcx\n\tjnz 1b\n\tpop %%rbp" : : "r"(frame) : "rcx", "memory", "cc");
}

int main(int argc, char **argv) {
	if (argc > 1)
		never();
	frame[1] = (char *)never + 1;
	puts("ready");
	fflush(stdout);
	getchar();
	burn();
	puts("done");
	fflush(stdout);
	getchar();
}
