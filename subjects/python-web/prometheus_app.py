"""A small answer over HTTP by waitress, with Prometheus's client if asked to.

    python3 prometheus_app.py ADDRESS:PORT [--metrics]

With `--metrics` each request counts in a counter and its duration in a histogram, by method and
path, and `/metrics` shows them.
"""

import json
import sys
import time

from waitress import serve

ANSWER = json.dumps({"items": [{"id": number, "name": f"item {number}"} for number in range(20)]})


def app(environ, start_response):
    body = ANSWER.encode()
    start_response(
        "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    )
    return [body]


def with_metrics(inner):
    from prometheus_client import Counter, Histogram, make_wsgi_app

    requests = Counter("requests", "Requests by method and path", ["method", "path"])
    durations = Histogram("request_seconds", "Their durations", ["method", "path"])
    metrics = make_wsgi_app()

    def counted(environ, start_response):
        if environ["PATH_INFO"] == "/metrics":
            return metrics(environ, start_response)
        labels = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        began = time.perf_counter()
        answer = inner(environ, start_response)
        durations.labels(*labels).observe(time.perf_counter() - began)
        requests.labels(*labels).inc()
        return answer

    return counted


def main():
    listen, metrics = sys.argv[1], sys.argv[2:] == ["--metrics"]
    if sys.argv[2:] and not metrics:
        sys.exit(__doc__)
    serve(with_metrics(app) if metrics else app, listen=listen, threads=4)


if __name__ == "__main__":
    main()
