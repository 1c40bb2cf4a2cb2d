"""Runs the whole shop by hand: `python3 shop.py` launches it and prints its address, until Ctrl-C or SIGTERM.

`python3 shop.py --check` goes through it as a user does, and checks that the order arrives at the last
service. Run `sh build.sh` first.
"""

import argparse
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
UP_WITHIN_S = 60
ARRIVED_WITHIN_S = 10


# Each after the services that it needs.
NAMES = ("redis", "broker", "orders", "recommendations", "catalogue", "checkout", "cart", "front")


def commands(at, folder):
    """The command of each service."""
    redis_port, broker_port = at["redis"].split(":")[1], at["broker"].split(":")[1]
    return {
        "redis": ["redis-server", "--bind", "127.0.0.1", "--port", redis_port, "--dir", folder]
        + ["--save", "", "--loglevel", "warning"],
        "broker": ["bin/nats-server", "--addr", "127.0.0.1", "--port", broker_port]
        + ["--log", f"{folder}/broker.log"],
        "orders": ["java", "-Xmx64m", "-jar", "orders/target/orders.jar", at["orders"], at["broker"]],
        "recommendations": ["python3", "recommendations/recommendations.py", at["recommendations"]],
        "cart": ["node", "cart/cart.js", at["cart"], at["redis"], at["checkout"]],
        "catalogue": ["bin/catalogue", "-listen", at["catalogue"]],
        "checkout": ["bin/checkout", "-listen", at["checkout"], "-catalogue", at["catalogue"]]
        + ["-broker", at["broker"]],
        "front": ["bin/front", "-listen", at["front"], "-catalogue", at["catalogue"]]
        + ["-recommendations", at["recommendations"], "-cart", at["cart"]],
    }


def free_addresses(names):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in names]
    addresses = [f"127.0.0.1:{held.getsockname()[1]}" for held in sockets]
    for held in sockets:
        held.close()
    return dict(zip(names, addresses))


class Shop:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="shop-")
        self.at = free_addresses(NAMES)
        self.running = {}
        return self

    def start(self):
        # In reverse order, to test that each waits for the services that it needs.
        started_with = commands(self.at, self.folder.name)
        for name in reversed(NAMES):
            self.running[name] = subprocess.Popen(started_with[name], cwd=HERE, stdout=subprocess.DEVNULL)
        until = time.monotonic() + UP_WITHIN_S
        for name, process in self.running.items():
            while not accepts(self.at[name]):
                if process.poll() is not None or time.monotonic() > until:
                    sys.exit(f"{name} is not up")
                time.sleep(0.05)

    def __exit__(self, *_):
        # The front first, so that no service calls one that has ended.
        for name, process in self.running.items():
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                print(f"{name} did not end and was killed", file=sys.stderr)
                process.kill()
                process.wait()
        self.folder.cleanup()

    def ask(self, path, form=None, of="front"):
        body = None if form is None else urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(f"http://{self.at[of]}{path}", body, {"Cookie": "user=ada"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()


def accepts(address):
    host, port = address.split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1) as connection:
            # The kernel may pick the target port itself as the source port, and TCP then connects to itself.
            return connection.getsockname() != connection.getpeername()
    except OSError:
        return False


def check(shop):
    """One user's way through the shop."""
    expect(shop.ask("/"), "<h2>For you</h2>", 'href="/products/')
    expect(shop.ask("/products/17"), "<h1>Telescope No. 17</h1>", "52.45 €", "Cart (0)", 'href="/products/')
    expect(shop.ask("/cart", {"product": 17, "quantity": 2}), "104.90 €")
    expect(shop.ask("/cart", {"product": 3, "quantity": 1}), "Eyepiece No. 3", "122.35 €", "Cart (3)")
    expect(shop.ask("/cart"), "<td>2</td><td>Telescope No. 17</td>", "122.35 €")
    expect(shop.ask("/checkout", {}), "<h1>Thank you</h1>", "122.35 €")
    refused(shop, "/checkout", {}, 409)
    refused(shop, "/products/0", None, 400)
    refused(shop, "/products/201", None, 404)

    wanted = {"orders": 1, "units": 3, "cents": 12235, "unreadable": 0}
    until = time.monotonic() + ARRIVED_WITHIN_S
    while (arrived := json.loads(shop.ask("/orders", of="orders"))) != wanted:
        if time.monotonic() > until:
            sys.exit(f"the orders that arrived are {arrived}, not {wanted}")
        time.sleep(0.05)
    print("ok: every service took part, and the order arrived")


def expect(page, *texts):
    for text in texts:
        if text not in page:
            sys.exit(f"{text!r} is not in\n{page}")


def refused(shop, path, form, status):
    try:
        shop.ask(path, form)
    except urllib.error.HTTPError as error:
        if error.code == status:
            return
        sys.exit(f"{path}: status {error.code}, not {status}")
    sys.exit(f"{path} was not refused")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="go through the shop once")
    asked = arguments.parse_args()
    # As Ctrl-C does, so that no service is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Shop() as shop:
            shop.start()
            if asked.check:
                check(shop)
                return
            for name, address in shop.at.items():
                print(f"{name}: http://{address}/" if name == "front" else f"{name}: {address}", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        # By then the services have ended.
        if asked.check:
            sys.exit("interrupted")


if __name__ == "__main__":
    main()
