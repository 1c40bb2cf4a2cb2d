"""Makes a virtual environment from a locked file of requirements, unless it is there.

    python3 environment.py REQUIREMENTS FOLDER

REQUIREMENTS pins every package with its hashes. Where one of its comments says
`Python 3.11 to 3.14`, no other is taken. FOLDER becomes an environment of the Python that runs
this; one that is incomplete, or made from another file or by another Python, is made again.
All packages are compiled to bytecode, so that no program has to do that when it starts.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys

# A file in an environment that records from what it was made; empty until it is complete.
STAMP = "made-from"
# pip retries for minutes if there is no network.
RETRIES = "2"
NO_NETWORK = re.compile("Retrying|ConnectionError|Could not fetch URL|ReadTimeout")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: python3 environment.py REQUIREMENTS FOLDER")
    requirements, folder = (os.path.abspath(argument) for argument in sys.argv[1:])
    locked = read(requirements)
    check_version(requirements, locked)
    # Plans that share an environment may be built at the same time.
    fcntl.flock(opened(os.path.dirname(folder)), fcntl.LOCK_EX)
    interpreter = os.path.realpath(sys.executable)
    stamp = f"{hashlib.sha256(locked).hexdigest()}\n{interpreter} {sys.version}\n"
    if not is_made(folder, stamp):
        make(folder, requirements, stamp)


def read(requirements):
    try:
        with open(requirements, "rb") as file:
            return file.read()
    except OSError as error:
        fail(f"can't read {requirements}: {error.strerror}")


def opened(folder):
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError as error:
        fail(f"can't open {folder}, where the environment should lie: {error.strerror}")


def check_version(requirements, locked):
    said = re.search(rb"^#.*\bPython (\d+)\.(\d+) to (\d+)\.(\d+)", locked, re.MULTILINE)
    numbers = [int(number) for number in said.groups()] if said else [3, 9, 3, 99]
    lowest, highest = tuple(numbers[:2]), tuple(numbers[2:])
    if not lowest <= sys.version_info[:2] <= highest:
        needed = " to ".join("{}.{}".format(*version) for version in (lowest, highest))
        fail(
            f"{sys.executable} is Python {sys.version.split()[0]}, and {requirements} is for "
            f"Python {needed}; put one of these into PATH as python3"
        )


def is_made(folder, stamp):
    try:
        with open(os.path.join(folder, STAMP)) as file:
            return file.read() == stamp and os.path.exists(python_of(folder))
    except OSError:
        return False


def python_of(folder):
    return os.path.join(folder, "bin", "python")


def make(folder, requirements, stamp):
    clear(folder)
    os.mkdir(folder)
    write_stamp(folder, "")
    make_empty(folder)
    install(folder, requirements)
    compile_all(folder)
    write_stamp(folder, stamp)


def clear(folder):
    """Removes an environment; refuses any other folder."""
    if not os.path.lexists(folder):
        return
    if not is_environment(folder):
        fail(f"{folder} is in the way and is no Python environment; move it elsewhere")
    shutil.rmtree(folder)


def is_environment(folder):
    """Whether it is an environment, complete or not, or does not exist yet."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    names = os.listdir(folder)
    return not names or STAMP in names or "pyvenv.cfg" in names


def write_stamp(folder, stamp):
    with open(os.path.join(folder, STAMP), "w") as file:
        file.write(stamp)


def make_empty(folder):
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        fail(
            f"{sys.executable} has no module {error.name}, with which environments are made; "
            "on Debian and Ubuntu: apt-get install python3-venv"
        )
    made = run([sys.executable, "-m", "venv", folder])
    if made.returncode != 0:
        fail(f"can't make an environment in {folder}: {last_lines(made.stdout)}")


def install(folder, requirements):
    made = run(
        [python_of(folder), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        # No code of packages runs at installation.
        + ["--require-hashes", "--only-binary", ":all:", "--requirement", requirements]
        + ["--no-compile", "--progress-bar", "off", "--retries", RETRIES]
    )
    if made.returncode == 0:
        return
    unreached = [line for line in made.stdout.splitlines() if NO_NETWORK.search(line)]
    if unreached:
        fail(
            f"can't reach the index of packages. The packages of {requirements} are fetched once, "
            "from PyPI: do this where there is a network, or name a mirror in PIP_INDEX_URL. pip "
            "says:\n"
            f"{unreached[-1]}\n{last_lines(made.stdout, 1)}"
        )
    fail(f"pip can't install {requirements}: {last_lines(made.stdout)}")


def compile_all(folder):
    made = run([python_of(folder), "-m", "compileall", "-q", os.path.join(folder, "lib")])
    # Packages bring templates and tests that no Python can compile; they aren't imported either.
    if made.returncode not in (0, 1):
        fail(f"can't compile the packages in {folder}: {last_lines(made.stdout)}")


def run(command):
    nothing, told = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.run(command, stdin=nothing, stdout=told, stderr=subprocess.STDOUT, text=True)


def last_lines(text, count=5):
    return "\n".join(text.strip().splitlines()[-count:])


def fail(why):
    sys.exit(f"environment.py: {why}")


if __name__ == "__main__":
    main()
