"""Recommendations: what people bought together, over HTTP.

    python3 recommendations.py ADDRESS:PORT

GET /recommendations?with=3,17&limit=3 answers {"products": [...]}: the products most often bought with
the given ones, or most often at all if none is given.
"""

import json
import random
import signal
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PRODUCTS = 200
BASKETS = 4000
KINDS = 8


class Purchases:
    """How often each product was bought, and with which others."""

    def __init__(self, baskets):
        self.alone = Counter()
        self.together = {product: Counter() for product in range(1, PRODUCTS + 1)}
        for basket in baskets:
            self.alone.update(basket)
            for product in basket:
                self.together[product].update(basket - {product})

    def recommend(self, products, limit):
        """The products most often bought with the given ones, filled up with the most bought ones."""
        found = Counter()
        for product in products:
            found.update(self.together.get(product, Counter()))
        for known in products:
            del found[known]
        best = [product for product, _ in found.most_common(limit)]
        if len(best) < limit:
            others = (product for product, _ in self.alone.most_common())
            best += [product for product in others if product not in best and product not in products]
        return best[:limit]


def past_baskets():
    """Invented baskets, the same every time: most have several products of one kind."""
    draw = random.Random(20)
    for _ in range(BASKETS):
        kind = draw.randrange(KINDS)
        basket = {1 + kind + KINDS * draw.randrange(PRODUCTS // KINDS) for _ in range(3)}
        yield basket | {draw.randint(1, PRODUCTS)}


class Recommendations(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are small packets; the second must not wait for the first one's acknowledgement.
    disable_nagle_algorithm = True
    purchases = Purchases(past_baskets())

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path != "/recommendations":
            self.answer(404, {"error": "there is only /recommendations"})
            return
        try:
            asked = parse_qs(url.query)
            products = [int(product) for names in asked.get("with", []) for product in names.split(",")]
            limit = int(asked.get("limit", ["5"])[0])
        except ValueError as error:
            self.answer(400, {"error": str(error)})
            return
        self.answer(200, {"products": self.purchases.recommend(products, limit)})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    # Connections outlive requests by far; their threads must not keep the process alive.
    daemon_threads = True


def main():
    address, port = sys.argv[1].rsplit(":", 1)
    with Server((address, int(port)), Recommendations) as server:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        # shutdown() is never called, so polling for it can be rare.
        server.serve_forever(poll_interval=60)


if __name__ == "__main__":
    main()
