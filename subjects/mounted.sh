#!/bin/sh
# mounted.sh COMMAND ARGUMENTS...: becomes the command (with this process's id). The kernel's file systems
# that agents look for are mounted for it; missing ones in a mount namespace of its own.
set -eu

if [ "${1-}" != --apart ]; then
    unshare --mount true 2>/dev/null || exec "$@"
    exec unshare --mount --propagation private sh "$0" --apart "$@"
fi
shift

# TYPE DIRECTORY. If a mount fails, the command will report what it lacks.
mounted() {
    if [ -d "$2" ] && ! grep -q " $2 $1 " /proc/self/mounts; then
        mount -t "$1" none "$2" || true
    fi
}
# Where an agent checks whether the kernel is locked down; if it is missing, the agent assumes it is not.
mounted securityfs /sys/kernel/security
# If it is missing, an agent mounts it for all and leaves it mounted.
mounted bpf /sys/fs/bpf
# Where tracepoints are looked up by name; older programs look for them below the second.
mounted tracefs /sys/kernel/tracing
mounted debugfs /sys/kernel/debug
exec "$@"
