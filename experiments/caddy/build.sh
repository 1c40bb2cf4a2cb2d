#!/bin/sh
# Puts the pinned Caddy into bin/; what is there already is only looked at.
set -eu
cd "$(dirname "$0")"
GOBIN=$PWD/bin exec go install github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9
