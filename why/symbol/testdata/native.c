// Says where some functions are, each on a line: the address and the name. Then it waits until
// its input ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static int hidden(int n) { return n * 3; }

int exported(int n) { return hidden(n) + 1; }

// Written in assembly, it has a start and no size.
__asm__(".text\n.globl sizeless\nsizeless:\n nop\n nop\n nop\n nop\n");
extern char sizeless[];

int main(void) {
	printf("%lx\thidden\n%lx\texported\n%lx\tmain\n%lx\tsizeless\n%lx\tgetenv\n\n", (long)hidden, (long)exported, (long)main,
	       (long)sizeless, (long)dlsym(RTLD_DEFAULT, "getenv"));
	fflush(stdout);
	while (getchar() != EOF) {
	}
	return exported(0) - 1;
}
