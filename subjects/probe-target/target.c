// A target for probes. An iteration calls the function `probed` EVENTS times and the system call
// getppid EVENTS times, so what a probe on either adds to an iteration, divided by EVENTS, is the
// cost of one event. Windage asks for iterations (docs/FORMAT.md, "Resident batch programs").
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long calls;

// Exported and never inlined: it has a name and an address.
__attribute__((noinline, noipa)) void probed(void) { calls++; }

static void iteration(long events)
{
	for (long event = 0; event < events; event++)
		probed();
	// Not by the C library's function, which might cache the result.
	for (long event = 0; event < events; event++)
		syscall(SYS_getppid);
}

static int complain(const char *what)
{
	fprintf(stderr, "target: %s\n", what);
	return 2;
}

// A whole number above zero, or 0 if the text is none.
static long number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);
	return *text != '\0' && *end == '\0' && value > 0 ? value : 0;
}

int main(int count, char **arguments)
{
	long events = 1000;
	if (count == 3 && strcmp(arguments[1], "--events") == 0)
		events = number(arguments[2]);
	if ((count != 1 && count != 3) || events == 0)
		return complain("usage: target [--events NUMBER]");

	const char *descriptor = getenv("WINDAGE_CONTROL_FD");
	if (descriptor == NULL || number(descriptor) == 0)
		return complain("WINDAGE_CONTROL_FD is not there: Windage starts this program");
	// A stream per direction: a single one would have to seek between reading and writing.
	FILE *asked = fdopen((int)number(descriptor), "r");
	FILE *said = fdopen(dup((int)number(descriptor)), "w");
	if (asked == NULL || said == NULL)
		return complain("WINDAGE_CONTROL_FD is no open descriptor");

	fprintf(said, "about events %ld\nready\n", events);
	fflush(said);
	char line[256];
	while (fgets(line, sizeof line, asked) != NULL) {
		long iterations;
		if (sscanf(line, "run %ld", &iterations) != 1)
			return complain("neither `run` nor the end was asked for");
		for (long done = 0; done < iterations; done++)
			iteration(events);
		fprintf(said, "done %ld\n", iterations);
		fflush(said);
	}
	return 0;
}
