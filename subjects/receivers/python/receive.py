"""A minimal receiver of OTLP in Python: asyncio or grpcio, the generated messages, two counters."""

import argparse
import asyncio
import gzip
import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service

# The default of gRPC, 4 MiB, is less than 8192 spans take.
MOST_BYTES = 64 * 1024 * 1024


class Counts(service.TraceServiceServicer):
    """What was received so far; over gRPC it is the service."""

    def __init__(self):
        self.requests = 0
        self.spans = 0

    def Export(self, request, context=None):
        self.requests += 1
        self.spans += sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
        return messages.ExportTraceServiceResponse()


async def converse(counts, reader, writer):
    """Answers the requests of one connection, which must have a Content-Length, until it ends."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await reader.readexactly(int(fields["content-length"]))
            if fields.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            counts.Export(messages.ExportTraceServiceRequest.FromString(body))
            # A response without fields has no bytes.
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def over_http(counts, host, port):
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    server = await asyncio.start_server(lambda r, w: converse(counts, r, w), host, port, limit=1024 * 1024)
    tell("otlp-http", host, server.sockets[0].getsockname()[1])
    await ended.wait()


def over_grpc(counts, host, port):
    # One thread: more would only alternate under the interpreter's lock, and the counters need no lock.
    server = grpc.server(ThreadPoolExecutor(max_workers=1), options=[("grpc.max_receive_message_length", MOST_BYTES)])
    service.add_TraceServiceServicer_to_server(counts, server)
    signal.signal(signal.SIGTERM, lambda *_: server.stop(None))
    bound = server.add_insecure_port(f"{host}:{port}")
    server.start()
    tell("otlp-grpc", host, bound)
    server.wait_for_termination()


def tell(protocol, host, port):
    print(f"{protocol} {host}:{port}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    address = parser.add_mutually_exclusive_group(required=True)
    address.add_argument("--otlp-http", metavar="HOST:PORT")
    address.add_argument("--otlp-grpc", metavar="HOST:PORT")
    arguments = parser.parse_args()
    host, _, port = (arguments.otlp_http or arguments.otlp_grpc).rpartition(":")
    counts = Counts()
    if arguments.otlp_http:
        asyncio.run(over_http(counts, host, int(port)))
    else:
        over_grpc(counts, host, int(port))
    print(json.dumps({"requests": counts.requests, "spans": counts.spans}))


if __name__ == "__main__":
    main()
