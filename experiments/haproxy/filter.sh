#!/bin/sh
# Finds the tracing filter to measure. Used by the plans and by haproxy.sh:
#
#   filter.sh check            fails with a message about what to install, unless there is one
#   filter.sh check TRACER...  the same, but requires OpenTracing with these tracers
#   filter.sh name             otel (OpenTelemetry) or ot (OpenTracing)
#   filter.sh why              its name, and the reason
#   filter.sh plugin TRACER    the file of a tracer of the OpenTracing filter: datadog or mock
#   filter.sh version          of HAProxy
#
# The binary is the one that WINDAGE_HAPROXY names, or the first haproxy in PATH.
set -eu
haproxy=${WINDAGE_HAPROXY:-haproxy}
install='apt-get install haproxy libdd-opentracing0'

refuse() {
    echo "$1" >&2
    exit 1
}

has() {
    case $features in
    *"] $1"*) ;;
    *) return 1 ;;
    esac
}

# The versions of the OpenTelemetry filter's parts, as HAProxy prints them.
otel() {
    echo "$features" | sed -n 's/^Built with OpenTelemetry support (\(.*\))\.*$/\1/p'
}

name() {
    if has opentelemetry; then
        case $(otel) in
        *"C++ version none"*) refuse "$haproxy was built with a stand-in for OpenTelemetry, which sends nothing" ;;
        esac
        echo otel
    elif has opentracing; then
        echo ot
    else
        refuse "$haproxy has neither the OpenTelemetry nor the OpenTracing filter (haproxy -vv): $install"
    fi
}

version() {
    echo "$features" | sed -n '1s/.*version \([^ ]*\).*/\1/p'
}

why() {
    chosen=$(name)
    case $chosen in
    otel)
        versions=$(otel)
        echo "opentelemetry${versions:+ ($versions)}"
        ;;
    ot) echo "opentracing (HAProxy $(version) has no OpenTelemetry filter; WINDAGE_HAPROXY may name one that has)" ;;
    esac
}

plugin() {
    case $1 in
    datadog) library=libdd_opentracing_plugin.so ;;
    mock) library=libopentracing_mocktracer.so ;;
    *) refuse "there is no tracer $1: datadog or mock" ;;
    esac
    for file in /usr/lib/*/"$library"* /usr/lib/"$library"* /usr/local/lib/"$library"*; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
    refuse "there is no $library: $install"
}

check() {
    chosen=$(name)
    if [ $# -gt 0 ]; then
        has opentracing || refuse "$haproxy has no OpenTracing filter, which has this tracer: $install"
    elif [ "$chosen" = ot ]; then
        set -- datadog
    fi
    for tracer; do
        plugin "$tracer" >/dev/null
    done
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
check | name | why | version)
    features=$("$haproxy" -vv 2>/dev/null) ||
        refuse "there is no HAProxy as $haproxy: $install, or let WINDAGE_HAPROXY name a binary"
    "$verb" "$@"
    ;;
plugin) plugin "$1" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
