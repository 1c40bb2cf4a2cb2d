#!/bin/sh
# Starts Envoy with one worker, from its own directory. Arguments are passed to envoy.
#
#   TRACING              off or on
#   RATE                 with tracing: the percentage of requests that are traced
#   SPAWN_UPSTREAM_SPAN  with tracing: whether the request to the origin is a second span (true, false)
set -eu
here=$(cd "$(dirname "$0")" && pwd)

{
    cat envoy.yaml
    if [ "$TRACING" = on ]; then
        sed "s/: RATE /: $RATE /; s/: SPAWN_UPSTREAM_SPAN/: $SPAWN_UPSTREAM_SPAN/" tracing.yaml
    fi
} >config.yaml
# Several instances run at the same time, and none hot-restarts.
exec "$here/bin/envoy" -c config.yaml --concurrency 1 --disable-hot-restart --log-level warning "$@"
