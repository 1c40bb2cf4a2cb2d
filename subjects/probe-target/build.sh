#!/bin/sh
# Makes bin/target, bin/probe and bin/probe.bpf.o, unless they are there.
set -eu
cd "$(dirname "$0")"

remedy() {
    echo "subjects/probe-target: $1" >&2
    exit 1
}

command -v gcc >/dev/null || remedy "gcc is not there; install it (apt-get install gcc libc6-dev)"
command -v clang >/dev/null || remedy "clang is not there; install it (apt-get install clang)"
[ -e /usr/include/bpf/libbpf.h ] || remedy "libbpf's headers are not there; install them (apt-get install libbpf-dev)"

stamp=bin/.windage
wanted="$(gcc --version | head -1) $(clang --version | head -1) $(cat build.sh target.c probe.c probe.bpf.c | cksum)"
[ -x bin/target ] && [ -x bin/probe ] && [ -e bin/probe.bpf.o ] && [ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && exit 0

mkdir -p bin
gcc -O2 -g -Wall -Wextra -Werror -o bin/target target.c
# Headers of the machine lie in a folder of their own in Debian.
clang -O2 -g -Wall -Werror -target bpf -I"/usr/include/$(gcc -print-multiarch)" -c probe.bpf.c -o bin/probe.bpf.o
gcc -O2 -g -Wall -Wextra -Werror -o bin/probe probe.c -lbpf
echo "$wanted" >$stamp
