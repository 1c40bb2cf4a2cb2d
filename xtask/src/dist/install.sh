#!/bin/sh
# Installs windage @VERSION@ for Linux on x86-64: the program, its manual pages and completions.
#
#   sh install.sh            to /usr/local as root, and to ~/.local otherwise
#   PREFIX=DIR sh install.sh to DIR
#   sh install.sh --remove   removes it from there
set -eu

version=@VERSION@
target=@TARGET@
sha256=@SHA256@
address=@ADDRESS@

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

if [ -z "${PREFIX:-}" ]; then
    if [ "$(id -u)" -eq 0 ]; then PREFIX=/usr/local; else PREFIX=$HOME/.local; fi
fi
case $PREFIX in
    /*) ;;
    *) PREFIX=$PWD/$PREFIX ;;
esac
bin=$PREFIX/bin
man=$PREFIX/share/man/man1
bash=$PREFIX/share/bash-completion/completions/windage
fish=$PREFIX/share/fish/vendor_completions.d/windage.fish
zsh=$PREFIX/share/zsh/site-functions/_windage

case ${1:-} in
    "") ;;
    --remove)
        rm -f "$bin/windage" "$man"/windage.1 "$man"/windage-*.1 "$bash" "$fish" "$zsh"
        echo "removed windage from $PREFIX"
        exit ;;
    *) fail "unknown argument $1; there is only --remove" ;;
esac

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
    fail "built for Linux on x86-64 alone; elsewhere: cargo install windage --locked"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=windage-$version-$target
archive=$folder/$name.tar.gz
if command -v curl >/dev/null; then
    curl --fail --location --silent --show-error --output "$archive" "$address/$name.tar.gz"
elif command -v wget >/dev/null; then
    wget --quiet --output-document "$archive" "$address/$name.tar.gz"
else
    fail "needs curl or wget"
fi
echo "$sha256  $archive" | sha256sum --check --quiet - ||
    fail "$address/$name.tar.gz is not what was released; nothing is installed"
tar --extract --gzip --file "$archive" --directory "$folder"

cd "$folder/$name"
install -D -m 755 windage "$bin/windage"
for page in man/man1/*; do install -D -m 644 "$page" "$man/${page##*/}"; done
install -D -m 644 completions/windage.bash "$bash"
install -D -m 644 completions/windage.fish "$fish"
install -D -m 644 completions/_windage "$zsh"
echo "installed $("$bin/windage" --version | head -n 1) to $bin"
case :$PATH: in
    *:"$bin":*) ;;
    *) echo "$bin is not in PATH" ;;
esac
