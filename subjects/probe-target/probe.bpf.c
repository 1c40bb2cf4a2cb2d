// One program for each way of attaching, all with the same body: a per-core counter.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} events SEC(".maps");

static __always_inline int counted(void)
{
	__u32 slot = 0;
	__u64 *count = bpf_map_lookup_elem(&events, &slot);
	if (count)
		++*count;
	return 0;
}

SEC("raw_tp/sys_enter")
int on_rawtracepoint(void *context) { return counted(); }

SEC("tracepoint/raw_syscalls/sys_enter")
int on_tracepoint(void *context) { return counted(); }

SEC("uprobe")
int on_uprobe(void *context) { return counted(); }

SEC("uretprobe")
int on_uretprobe(void *context) { return counted(); }

char _license[] SEC("license") = "GPL";
