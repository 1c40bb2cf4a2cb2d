#!/bin/sh
# Puts the packages of package-lock.json into node_modules, unless they are there.
set -eu
cd "$(dirname "$0")"

remedy() {
    echo "subjects/node-express: $1" >&2
    exit 1
}

command -v node >/dev/null || remedy "node is not there; install Node.js 20 (apt-get install nodejs npm)"
node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' ||
    remedy "$(node --version) is too old; install Node.js 20 or later"

stamp=node_modules/.windage
wanted="$(node --version) $(cksum <package-lock.json)"
[ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && exit 0

command -v npm >/dev/null || remedy "npm is not there; install it (apt-get install npm)"
# No install scripts of packages run.
npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error ||
    remedy "npm could not install the packages of package-lock.json; it needs the npm registry, or a cache that has them (run this script once where there is a network)"
echo "$wanted" >$stamp
