#!/bin/sh
# Makes target/java-web.jar, target/lib and target/opentelemetry-javaagent.jar, unless they are there.
set -eu
cd "$(dirname "$0")"

remedy() {
    echo "subjects/java-web: $1" >&2
    exit 1
}

command -v javac >/dev/null || remedy "there is no JDK; install one of version 17 or later (apt-get install openjdk-17-jdk-headless)"
version=$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
[ "$version" -ge 17 ] || remedy "JDK $version is too old; install one of version 17 or later"

stamp=target/.windage
wanted="$version $(cat pom.xml agent.sha256 src/main/java/dev/windage/web/*.java src/main/resources/* | cksum)"
[ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && exit 0

command -v mvn >/dev/null || remedy "Maven is not there; install it (apt-get install maven)"
build() {
    mvn --batch-mode --quiet --strict-checksums "$@" package
}
# Without network first: the local repository may have everything.
build --offline >/dev/null 2>&1 || build ||
    remedy "Maven could not build it; it needs Maven Central, or a local repository (~/.m2) that has what pom.xml names (run this script once where there is a network)"
sha256sum --check --quiet agent.sha256 ||
    remedy "the agent is not the one that agent.sha256 names; remove it from ~/.m2/repository/io/opentelemetry/javaagent and build again"
echo "$wanted" >$stamp
