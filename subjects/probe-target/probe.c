// Attaches one counter, by one mechanism, until SIGINT or SIGTERM:
//
//   probe rawtracepoint     on every system call of the machine
//   probe tracepoint        the same, by a perf event
//   probe uprobe PID        on the function `probed` of this process alone
//   probe uretprobe PID     on its return
//
// It prints `attached` when it is, and at its end the number of events.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *what, int error)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(error < 0 ? -error : error));
	return 1;
}

// The uprobe is on the program file of the process, as seen in the process's own mount namespace.
static struct bpf_link *on_function(struct bpf_program *program, const char *pid, bool at_return)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%s/exe", pid);
	struct bpf_uprobe_opts options = {
		.sz = sizeof options,
		.func_name = "probed",
		.retprobe = at_return,
	};
	return bpf_program__attach_uprobe_opts(program, atoi(pid), path, 0, &options);
}

static unsigned long long total(struct bpf_object *object)
{
	int cores = libbpf_num_possible_cpus();
	if (cores < 1)
		return 0;
	__u64 counts[cores];
	__u32 slot = 0;
	int events = bpf_object__find_map_fd_by_name(object, "events");
	if (bpf_map_lookup_elem(events, &slot, counts) != 0)
		return 0;
	unsigned long long sum = 0;
	for (int core = 0; core < cores; core++)
		sum += counts[core];
	return sum;
}

int main(int count, char **arguments)
{
	const char *mechanism = count > 1 ? arguments[1] : "";
	bool at_return = strcmp(mechanism, "uretprobe") == 0;
	bool on_process = at_return || strcmp(mechanism, "uprobe") == 0;
	bool on_kernel = strcmp(mechanism, "tracepoint") == 0 || strcmp(mechanism, "rawtracepoint") == 0;
	if (!(on_process && count == 3) && !(on_kernel && count == 2)) {
		fprintf(stderr, "usage: probe rawtracepoint|tracepoint, or probe uprobe|uretprobe PID\n");
		return 2;
	}
	// Before anything is attached, so that no signal is missed.
	sigset_t ends;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);

	char path[4096];
	const char *slash = strrchr(arguments[0], '/');
	snprintf(path, sizeof path, "%.*sprobe.bpf.o", slash ? (int)(slash - arguments[0] + 1) : 0, arguments[0]);
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	if (object == NULL)
		return complain(path, errno);
	char wanted[32];
	snprintf(wanted, sizeof wanted, "on_%s", mechanism);
	struct bpf_program *program;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, strcmp(bpf_program__name(program), wanted) == 0);
	int failed = bpf_object__load(object);
	if (failed)
		return complain("the kernel does not load the program", failed);
	program = bpf_object__find_program_by_name(object, wanted);
	struct bpf_link *link = on_process ? on_function(program, arguments[2], at_return)
					   : bpf_program__attach(program);
	if (link == NULL)
		return complain("the program can't be attached", errno);

	printf("attached %s\n", mechanism);
	fflush(stdout);
	int signal;
	sigwait(&ends, &signal);
	bpf_link__destroy(link);
	printf("%llu events\n", total(object));
	bpf_object__close(object);
	return 0;
}
