"""Windage's protocol of batch programs, in Python; docs/FORMAT.md has the rules."""

import os
import socket


def serve(run, flush=None, about=()):
    """Does what Windage asks for until it closes the connection: `run(count)` does iterations."""
    control = socket.socket(fileno=int(os.environ["WINDAGE_CONTROL_FD"]))
    lines = control.makefile("rw", newline="\n")

    def say(line):
        print(line, file=lines, flush=True)

    for name, text in about:
        say(f"about {name} {text}")
    say("ready flush" if flush else "ready")
    for line in lines:
        verb, *count = line.split()
        if verb == "run":
            run(int(count[0]))
            say(f"done {count[0]}")
        elif verb == "flush":
            flush()
            say("flushed")


def tell(about=(), phases=None):
    """Reports the program's own facts and its phases, where each window is a whole process."""
    with socket.socket(fileno=int(os.environ["WINDAGE_CONTROL_FD"])) as control:
        for name, text in about:
            control.sendall(f"about {name} {text}\n".encode())
        for name, (wall_ns, cpu_ns) in (phases or {}).items():
            control.sendall(f"phase {name} {wall_ns} {cpu_ns}\n".encode())
