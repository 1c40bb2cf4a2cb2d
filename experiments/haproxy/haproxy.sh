#!/bin/sh
# Starts HAProxy in the working directory, with the filter that the binary has: OpenTelemetry if
# available, else OpenTracing. Arguments are passed to haproxy.
#
#   TRACER  ot or otel, to override the choice
#   PLUGIN  which tracer the OpenTracing filter uses: datadog (the default) or mock
set -eu
here=$(dirname "$0")
TRACER=${TRACER:-$(sh "$here/filter.sh" name)}
PLUGIN=${PLUGIN:-datadog}
export TRACER PLUGIN

if [ "$TRACER" = ot ]; then
    # The filter looks for it under the working directory, whatever the path.
    file=$(sh "$here/filter.sh" plugin "$PLUGIN")
    ln -sf "$file" plugin.so
fi
exec "${WINDAGE_HAPROXY:-haproxy}" "$@" -f haproxy.cfg
