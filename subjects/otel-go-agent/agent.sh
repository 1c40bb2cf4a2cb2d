#!/bin/sh
# Becomes the agent, with what it looks for mounted: see ../mounted.sh.
here=$(dirname "$0")
exec sh "$here/../mounted.sh" "$here/bin/otel-go-agent" "$@"
