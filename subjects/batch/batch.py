"""A minimal batch program: it defines an iteration; control.py does the rest."""

import platform

import control


def run(count):
    for _ in range(count):
        sum(i * i for i in range(1000))


control.serve(run, flush=lambda: None, about=[("python", platform.python_version())])
