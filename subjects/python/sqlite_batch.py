"""A batch program: tables in sqlite3, in memory, under the tracers that people use for Python.

One iteration is a root span (where there is a tracer) around a table, a row and 20 queries: 23
spans, or with --events or --records a root span and 22 events or log records. Windage asks for iterations; with --iterations,
for use by hand, the program does that number and ends.
"""

import time

# CPU time before the first line is the interpreter's start, which does not wait.
START_CPU_NS = time.process_time_ns()
START_NS = time.perf_counter_ns()

import argparse
import os
import signal
import sqlite3
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "batch"))

import control
import facts
import telemetry

CREATE = "CREATE TABLE items (id INTEGER, name TEXT)"
INSERT = "INSERT INTO items VALUES (1, 'one')"
SELECT = "SELECT id, name FROM items"
SELECTS = 20
STATEMENTS = 2 + SELECTS
# How often a whole script checks the size of its output.
STRETCH = 1000


def main():
    options = arguments()
    made = telemetry.make(options)
    program = Program(work(options, made), made)
    if options.iterations is not None:
        whole_script(program, options.iterations)
    elif "WINDAGE_CONTROL_FD" in os.environ:
        # The end of the connection comes before the signal and means the same, so the flush is not
        # interrupted.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        control.serve(program.run, made.flush, facts.about())
        program.end()
    else:
        sys.exit("sqlite_batch.py: nobody asks for iterations; say how many with --iterations")


def arguments():
    parser = argparse.ArgumentParser(prog="sqlite_batch.py", description=__doc__)
    parser.add_argument("--tracer", choices=["none", "noop", "otel", "ddtrace"], default="none")
    parser.add_argument("--sampling", type=float, help="share of traces, from 0 to 1")
    parser.add_argument("--processor", choices=["none", "simple", "batch"], default="batch")
    parser.add_argument(
        "--exporter",
        choices=["null", "serialise", "text", "otlp-http", "otlp-grpc", "agent"],
        help="agent is ddtrace's, text is of both, all others are OpenTelemetry's",
    )
    parser.add_argument("--output", help="file of the exporter of text")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--events", action="store_true", help="events in place of spans")
    instead.add_argument("--records", action="store_true", help="log records in place of spans")
    parser.add_argument("--iterations", type=int, metavar="N", help="do N and end")
    options = parser.parse_args()
    telemetry.check(options, parser.error)
    return options


def work(options, made):
    """An iteration, as a function."""
    if options.tracer == "none":
        return statements
    span = made.root_span

    def traced():
        with span():
            statements()

    def with_events():
        with span() as root:
            noted_statements(root.add_event)

    def with_records():
        with span():
            noted_statements(made.record)

    if options.events:
        return with_events
    return with_records if options.records else traced


def statements():
    connection = sqlite3.connect(":memory:")
    cursor = connection.cursor()
    cursor.execute(CREATE)
    cursor.execute(INSERT)
    for _ in range(SELECTS):
        cursor.execute(SELECT)
        cursor.fetchall()
    cursor.close()
    connection.close()


def noted_statements(note):
    """The same statements; each is noted with the data that its span would have."""
    connection = sqlite3.connect(":memory:")
    cursor = connection.cursor()
    cursor.execute(CREATE)
    note("CREATE", {"db.system": "sqlite", "db.statement": CREATE})
    cursor.execute(INSERT)
    note("INSERT", {"db.system": "sqlite", "db.statement": INSERT})
    for _ in range(SELECTS):
        cursor.execute(SELECT)
        cursor.fetchall()
        note("SELECT", {"db.system": "sqlite", "db.statement": SELECT})
    cursor.close()
    connection.close()


class Program:
    def __init__(self, iteration, made):
        self.iteration = iteration
        self.made = made
        self.done = 0

    def run(self, count):
        iteration = self.iteration
        for _ in range(count):
            iteration()
        self.done += count
        self.made.bound_output()

    def end(self):
        self.made.shutdown()
        for exported in self.made.exported:
            made = self.done * exported.an_iteration
            dropped = made - exported.count
            if dropped > 0:
                what = f"{dropped} of {made} {exported.kind}"
                print(f"dropped {what} before they were exported", flush=True)


def whole_script(program, iterations):
    setup = START_CPU_NS + time.perf_counter_ns() - START_NS, time.process_time_ns()
    is_watched = "WINDAGE_CONTROL_FD" in os.environ
    about = facts.about() if is_watched else []
    iterating = timed(lambda: in_stretches(program, iterations))
    flushing = timed(program.end)
    if is_watched:
        control.tell(about, {"setup": setup, "iterations": iterating, "flush": flushing})


def in_stretches(program, iterations):
    for first in range(0, iterations, STRETCH):
        program.run(min(STRETCH, iterations - first))


def timed(part):
    """Wall and CPU time of a part, in nanoseconds."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    part()
    return time.perf_counter_ns() - wall, time.process_time_ns() - cpu


if __name__ == "__main__":
    main()
