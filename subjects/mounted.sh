#!/bin/sh
# mounted.sh COMMAND ARGUMENTS...: becomes the command (with this process's id), for which the kernel's
# file systems that agents look for are mounted: for it alone, where they are not mounted for all.
set -eu

if [ "${1-}" != --apart ]; then
    unshare --mount true 2>/dev/null || exec "$@"
    exec unshare --mount --propagation private sh "$0" --apart "$@"
fi
shift

# TYPE DIRECTORY. What can't be mounted is left to the command to complain of.
mounted() {
    if [ -d "$2" ] && ! grep -q " $2 $1 " /proc/self/mounts; then
        mount -t "$1" none "$2" || true
    fi
}
# Where an agent asks whether the kernel is locked down, and takes what is not there for a no.
mounted securityfs /sys/kernel/security
# An agent that finds it missing mounts it for all, and leaves it.
mounted bpf /sys/fs/bpf
# Where tracepoints are looked up by name; older programs look for them below the second.
mounted tracefs /sys/kernel/tracing
mounted debugfs /sys/kernel/debug
exec "$@"
