// Serves for each byte of the input, and says so.
#include <stdio.h>

int main(void) {
	setbuf(stdout, NULL);
	do {
		puts("done");
		if (getchar() == EOF)
			return 0;
		serve();
	} while (1);
}
