// Says where calls are that are put into their callers: the same address for each, the innermost first, as native.c does.
#include <stdio.h>

static __attribute__((noinline, noipa)) unsigned long here(void) { return (unsigned long)__builtin_return_address(0) - 1; }

static inline __attribute__((always_inline)) unsigned long innermost(void) { return here(); }

static inline __attribute__((always_inline)) unsigned long between(int n) {
	unsigned long at = innermost();
	return n > 0 ? at : 0;
}

__attribute__((noinline, noipa)) unsigned long outermost(int n) { return between(n) + 0; }

int main(int argc, char **argv) {
	unsigned long at = outermost(argc);
	printf("%lx\tinnermost\n%lx\tbetween\n%lx\toutermost\n\n", at, at, at);
	fflush(stdout);
	while (getchar() != EOF) {
	}
	return 0;
}
