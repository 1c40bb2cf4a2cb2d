#!/bin/sh
# Builds the pinned Caddy into bin/, unless it is there.
set -eu
cd "$(dirname "$0")"
GOBIN=$PWD/bin exec go install github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9
