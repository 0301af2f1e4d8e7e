// Burns CPU time for each byte of its input.

static volatile unsigned long sink;

__attribute__((noinline, noclone)) void burn(long n) {
	while (n--)
		sink += n;
}

// GCC gives functions that call none no frame.
__attribute__((noinline, noclone)) void relay(long n) {
	burn(n);
	sink++; // the call is not the last thing
}

__attribute__((noinline, noclone)) void outer(long n) {
	relay(n);
	sink++;
}

static void serve(void) { outer(100000000); }

#include "main.h"
