"""Answers requests, and keeps some memory, an open descriptor or a thread more from time to time,
as a queue does that nobody empties.

    python3 server.py HOST:PORT [BYTES_PER_HOUR [DESCRIPTORS_PER_HOUR [THREADS_PER_HOUR]]]
"""

import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b"The same page, and again, and again: fifty bytes.\n"
PAGE = 4096


class Handler(BaseHTTPRequestHandler):
    # Connections are kept.
    protocol_version = "HTTP/1.1"
    # Head and body leave together; apart, the second would wait for the acknowledgement of the first.
    wbufsize = -1

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


def a_page():
    # Random, so that all of it is written.
    return os.urandom(PAGE)


def a_descriptor():
    return os.open(os.devnull, os.O_RDONLY)


def a_thread():
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    return thread


def leak(make, per_hour):
    kept = []
    while True:
        time.sleep(3600 / per_hour)
        kept.append(make())


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    per_hour = [int(given) for given in sys.argv[2:]]
    per_hour[:1] = [given / PAGE for given in per_hour[:1]]
    for make, rate in zip([a_page, a_descriptor, a_thread], per_hour):
        if rate > 0:
            threading.Thread(target=leak, args=[make, rate], daemon=True).start()
    ThreadingHTTPServer((host, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
