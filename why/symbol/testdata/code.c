// Says where its functions are, as native.c does. What is defined changes one of them, or what is in front of them.
#include <stdio.h>

#ifdef EARLIER
int earlier(int n) {
	for (int i = 0; i < n; i++)
		n ^= i * 31;
	return n;
}
#endif

static volatile int state[4];

int first(int n) { return state[n & 3] + 1; }
int second(int n) { return state[n & 3] + 2; }

#ifdef CONSTANT
int edited(int n) { return n * 5; }
#else
int edited(int n) { return n * 3; }
#endif

#ifdef CALLED
int calls(int n) { return second(n) + edited(n); }
#else
int calls(int n) { return first(n) + edited(n); }
#endif

int loops(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++)
		if (i % 3)
			sum += calls(i) + state[i & 1];
	return sum;
}

int main(void) {
	printf("%lx\tfirst\n%lx\tsecond\n%lx\tedited\n%lx\tcalls\n%lx\tloops\n\n", (long)first, (long)second, (long)edited, (long)calls, (long)loops);
	fflush(stdout);
	while (getchar() != EOF) {
	}
	return loops(0);
}
