#!/bin/sh
# agent.sh NAME ARGUMENTS...: becomes the agent that the environment names, or the program in PATH.
# agent.sh check NAME        ends with an error that says where to get it, unless it is there.
set -eu

complain() {
    echo "$1" >&2
    exit 1
}

# NAME: sets the variable that names it, its program in PATH and where it comes from.
agent() {
    case $1 in
    beyla)
        variable=WINDAGE_BEYLA default=beyla
        from=https://github.com/grafana/beyla/releases
        ;;
    obi)
        variable=WINDAGE_OBI default=obi
        from=https://github.com/open-telemetry/opentelemetry-ebpf-instrumentation/releases
        ;;
    coroot)
        variable=WINDAGE_COROOT default=coroot-node-agent
        from=https://github.com/coroot/coroot-node-agent/releases
        ;;
    *) complain "there is no agent $1: beyla, obi or coroot" ;;
    esac
    eval "program=\${$variable:-$default}"
}

if [ "${1-}" = check ]; then
    agent "${2-}"
    command -v "$program" >/dev/null ||
        complain "$program is not there; get it from $from and name it by $variable"
    exit
fi
agent "${1-}"
shift
exec sh "$(dirname "$0")/../../subjects/mounted.sh" "$program" "$@"
