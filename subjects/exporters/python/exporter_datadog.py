"""Sends a known number of spans with ddtrace, Datadog's tracer for Python.

../README.md describes the flags and what is sent.
"""

import argparse
import logging
import os
import sys

BATCH = 100
SPANS_A_TRACE = 10


def main():
    options = arguments()
    configure(options)
    complaints = Complaints(logging.WARNING)
    logging.getLogger("ddtrace").addHandler(complaints)
    send_traces(options)
    if complaints.messages:
        sys.exit("exporter_datadog: " + "; ".join(complaints.messages))


def arguments():
    parser = argparse.ArgumentParser(prog="exporter_datadog")
    parser.add_argument("--signal", choices=["traces"], default="traces")
    parser.add_argument("--protocol", choices=["v0.4", "v0.5"], required=True)
    parser.add_argument("--compression", choices=["none"], default="none")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--count", type=int, required=True)
    # The tracer has no public call for them.
    parser.add_argument("--events", type=int, choices=[0], default=0)
    parser.add_argument("--links", type=int, default=0)
    parser.add_argument("--attributes", type=int, default=0)
    return parser.parse_args()


def configure(options):
    """The tracer reads its settings from the environment when it is imported."""
    os.environ["DD_TRACE_AGENT_URL"] = options.endpoint
    os.environ["DD_TRACE_API_VERSION"] = options.protocol
    os.environ["DD_SERVICE"] = "exporter"
    os.environ["DD_TRACE_STARTUP_LOGS"] = "false"


class Complaints(logging.Handler):
    """The tracer reports errors in the background only in its log."""

    def __init__(self, level):
        super().__init__(level)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def send_traces(options):
    from ddtrace.trace import Context, tracer

    elsewhere = Context(trace_id=1, span_id=1)
    for number in range(options.count):
        is_root = number % SPANS_A_TRACE == 0
        if is_root:
            root = None
        span = tracer.start_span(f"span {number}", child_of=root)
        if is_root:
            root = span
        for i in range(options.attributes):
            span.set_tag(f"attribute.{i}", f"value {number}")
        for _ in range(options.links):
            span.link_span(elsewhere)
        if not is_root:
            span.finish()
        # A trace is exported when its last span has ended.
        if number % SPANS_A_TRACE == SPANS_A_TRACE - 1 or number == options.count - 1:
            root.finish()
        if number % BATCH == BATCH - 1:
            tracer.flush()
    tracer.shutdown()


if __name__ == "__main__":
    main()
