"""Answers requests, and keeps some memory more from time to time, as a queue does that nobody
empties.

    python3 server.py HOST:PORT BYTES_PER_HOUR
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


def leak(bytes_per_hour):
    kept = []
    while True:
        time.sleep(3600 * PAGE / bytes_per_hour)
        # Random, so that all of it is written.
        kept.append(os.urandom(PAGE))


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    bytes_per_hour = int(sys.argv[2])
    if bytes_per_hour > 0:
        threading.Thread(target=leak, args=[bytes_per_hour], daemon=True).start()
    ThreadingHTTPServer((host, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
