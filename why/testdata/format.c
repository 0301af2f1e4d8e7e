// Spends its CPU time in the C library, for each byte of its input.
#include <stdio.h>
#include <stdlib.h>

static char text[64];
static int numbers[1000];
static volatile int sorted;

static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

// The library, which is compiled without frame pointers, calls back.
__attribute__((noinline, noclone)) void sort(void) {
	for (int i = 0; i < 1000; i++)
		numbers[i] = i * 7919 % 1000;
	qsort(numbers, 1000, sizeof *numbers, descending);
	sorted++; // the call is not the last thing
}

__attribute__((noinline, noclone)) void format(long n) {
	while (n--)
		snprintf(text, sizeof text, "%d %s %.3f", (int)n, "pages", n / 7.0);
}

__attribute__((noinline, noclone)) void serve(void) {
	for (int i = 0; i < 400; i++) {
		format(2000);
		for (int k = 0; k < 20; k++)
			sort();
	}
}

#include "main.h"
