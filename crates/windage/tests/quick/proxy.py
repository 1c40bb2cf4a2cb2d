"""A service that can be switched: a line over TCP or a Unix socket, or a request."""

import os, socketserver, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

port, admin, stats, path = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
counts = {}
lost = 0

def obey(line, by):
    words = line.split()
    if len(words) != 2 or words[0] != "rate":
        return 400, "Unknown command. Please enter one of the following commands only:\n rate\n"
    counts[words[1]] = counts.get(words[1], 0) + 1
    if words[1] == "3" and counts["3"] == 3:
        return 400, "not now\n"
    print("switched to", words[1], "by", by, flush=True)
    return 200, "rate is " + words[1] + "\n"

def line_handler(by):
    class Line(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(obey(self.rfile.readline().decode(), by)[1].encode())
    return Line

class Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one segment: else the second waits for a delayed acknowledgement.
    wbufsize = -1

    def do_GET(self):
        global lost
        url = urlparse(self.path)
        status, text = 200, "hello\n"
        if url.path == "/metrics":
            lost += 5
            text = "# TYPE lost_total counter\nlost_total %d\n" % lost
        self.answer(status, text)

    def do_POST(self):
        query = parse_qs(urlparse(self.path).query)
        self.answer(*obey("rate " + query.get("is", ["to what?"])[0], "http"))

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

here = "127.0.0.1"
servers = [
    socketserver.ThreadingTCPServer((here, admin), line_handler("tcp")),
    socketserver.ThreadingUnixStreamServer(os.path.join(path, "admin.sock"), line_handler("unix")),
    ThreadingHTTPServer((here, stats), Http),
    ThreadingHTTPServer((here, port), Http),
]
for server in servers:
    server.daemon_threads = True
threads = [threading.Thread(target=server.serve_forever) for server in servers]
for thread in threads:
    thread.start()
