"""What a Python program reports about itself: settings that influence its cost."""

import gc
import os
import platform
import sys
import threading
import time


def about():
    """Names and texts, none longer than a line of Windage's protocol."""
    counts = " ".join(str(threshold) for threshold in gc.get_threshold())
    return [
        ("python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("gc", f"{'enabled' if gc.isenabled() else 'disabled'}, thresholds {counts}"),
        ("hash_seed", os.environ.get("PYTHONHASHSEED") or "random"),
        ("bytecode", bytecode()),
        ("threads", threads()),
        ("switch_interval", f"{sys.getswitchinterval() * 1e3:g} ms"),
    ]


def threads():
    return f"{threading.active_count()} of Python, {len(os.listdir('/proc/self/task'))} in all"


def bytecode():
    """Whether what was imported came from the cache of bytecode, or was compiled at this start."""
    started = time.time() - time.process_time()
    compiled = 0
    cached = 0
    for module in list(sys.modules.values()):
        path = getattr(getattr(module, "__spec__", None), "cached", None)
        # Some modules are made by programs and have no file.
        if not isinstance(path, str) or not path.endswith(".pyc"):
            continue
        try:
            fresh = os.stat(path).st_mtime > started
        except OSError:
            fresh = True
        if fresh:
            compiled += 1
        else:
            cached += 1
    if compiled == 0:
        return "all modules cached"
    return f"{compiled} of {compiled + cached} modules compiled at start"
