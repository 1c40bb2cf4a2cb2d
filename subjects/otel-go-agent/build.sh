#!/bin/sh
# Makes bin/otel-go-agent, unless it is there.
set -eu
cd "$(dirname "$0")"

module=go.opentelemetry.io/auto
version=v0.24.0
sum=h1:nOzXOTodZJywTTmU/lQOTaOHFIy5Kb0nsr9KZt9mJtg=

remedy() {
    echo "subjects/otel-go-agent: $1" >&2
    exit 1
}

command -v go >/dev/null || remedy "Go is not there; install version 1.26 or later (https://go.dev/dl)"

stamp=build/.windage
wanted="$(go version) $(clang --version 2>/dev/null | head -1) $(cat build.sh go.mod go.sum | cksum)"
[ -x bin/otel-go-agent ] && [ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && exit 0

command -v clang >/dev/null || remedy "clang is not there, which compiles the agent's BPF programs; install it (apt-get install clang)"
command -v llvm-strip >/dev/null || remedy "llvm-strip is not there; install it (apt-get install llvm)"

# What is in the module cache needs no network.
found=$(go mod download -json "$module@$version") ||
    remedy "Go could not fetch $module $version; it needs the Go module proxy, or a module cache that has it (run this script once where there is a network)"
field() {
    echo "$found" | sed -n "s/^.*\"$1\": \"\(.*\)\".*$/\1/p"
}
[ "$(field Sum)" = "$sum" ] || remedy "$module $version is not the one that this script names: its sum is $(field Sum)"

rm -rf build
mkdir build
cp -R "$(field Dir)" build/auto
chmod -R u+w build/auto
(
    cd build/auto
    # The release holds no folder sdk; its own go.mod asks for it there.
    go mod edit -dropreplace=go.opentelemetry.io/auto/sdk
    export BPF2GO_CFLAGS="-I$PWD/internal/include/libbpf -I$PWD/internal/include"
    go generate ./internal/pkg/... >../generate.log 2>&1
) || remedy "the agent's BPF programs did not compile; see subjects/otel-go-agent/build/generate.log"

# -trimpath: what is built does not depend on where.
go build -mod=readonly -buildvcs=false -trimpath -o bin/otel-go-agent $module/cli ||
    remedy "the agent did not compile"
echo "$wanted" >$stamp
