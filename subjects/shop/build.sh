#!/bin/sh
# Builds everything that the shop's services need, unless it is there:
#   bin/front, bin/catalogue, bin/checkout            without OpenTelemetry
#   bin/otel/front, bin/otel/catalogue, bin/otel/checkout   with it linked, and off by default
#   bin/nats-server, cart/node_modules, orders/target
set -eu
cd "$(dirname "$0")"

remedy() {
    echo "subjects/shop: $1" >&2
    exit 1
}

there() {
    command -v "$1" >/dev/null || remedy "$1 is not there; install it ($2)"
}

there go "version 1.26 or later, https://go.dev/dl"
there python3 "apt-get install python3"
there redis-server "apt-get install redis-server"
there node "version 20 or later, apt-get install nodejs npm"
there javac "version 17 or later, apt-get install openjdk-17-jdk-headless"

node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' ||
    remedy "Node $(node --version) is too old; install version 20 or later"
java=$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
[ "$java" -ge 17 ] || remedy "JDK $java is too old; install one of version 17 or later (apt-get install openjdk-17-jdk-headless)"

# Runs the function $2, unless the stamp $1 shows that its result was made from the same inputs (the rest).
unless_made() {
    stamp=$1 make=$2
    shift 2
    [ "$(cat "$stamp" 2>/dev/null)" = "$*" ] && return
    "$make"
    echo "$*" >"$stamp"
}

# Go caches compiled packages and detects changes itself.
offline="it needs the Go module proxy, or a module cache that has what go.mod names (run this script once where there is a network)"
go build -C go -buildvcs=false -tags plain -o ../bin/ ./cmd/... || remedy "Go could not build the services; $offline"
go build -C go -buildvcs=false -o ../bin/otel/ ./cmd/... || remedy "Go could not build the services; $offline"
go build -C broker -buildvcs=false -o ../bin/nats-server github.com/nats-io/nats-server/v2 ||
    remedy "Go could not build the NATS server; $offline"

cart() {
    there npm "apt-get install npm"
    # No install scripts of packages run.
    npm ci --prefix cart --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error ||
        remedy "npm could not install the packages of cart/package-lock.json; it needs the npm registry, or a cache that has them (run this script once where there is a network)"
}
unless_made cart/node_modules/.windage cart "$(node --version) $(cat cart/package.json cart/package-lock.json | cksum)"

orders() {
    there mvn "apt-get install maven"
    # Without network first: the local repository may have everything.
    maven --offline >/dev/null 2>&1 || maven ||
        remedy "Maven could not build the orders; it needs Maven Central, or a local repository (~/.m2) that has what orders/pom.xml names (run this script once where there is a network)"
}
maven() {
    # Otherwise classes of removed sources would stay in the jar.
    mvn --file orders/pom.xml --batch-mode --quiet --strict-checksums "$@" clean package
}
unless_made orders/target/.windage orders "$java $(cat orders/pom.xml orders/src/main/java/dev/windage/shop/*.java | cksum)"
