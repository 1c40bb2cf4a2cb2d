#!/bin/sh
# Windage's protocol of batch programs, in sh; docs/FORMAT.md has the rules.
set -eu

iteration() {
    number=0
    while [ $number -lt 100 ]; do number=$((number + 1)); done
}

exec 3<&"$WINDAGE_CONTROL_FD" 4>&"$WINDAGE_CONTROL_FD"
echo "about shell $(readlink -f /proc/$$/exe)" >&4
echo "ready flush" >&4
while read -r verb count <&3; do
    case $verb in
    run)
        left=$count
        while [ "$left" -gt 0 ]; do iteration; left=$((left - 1)); done
        echo "done $count" >&4
        ;;
    flush) echo flushed >&4 ;;
    esac
done
