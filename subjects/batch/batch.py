"""The smallest batch program: what it does in an iteration is its own, the rest is control.py."""

import platform

import control


def run(count):
    for _ in range(count):
        sum(i * i for i in range(1000))


control.serve(run, flush=lambda: None, about=[("python", platform.python_version())])
