"""What both services serve: an item of a shop, made from three tables of a sqlite file.

    python3 items.py FILE

makes the file. Services open it read-only, each of their threads for itself.
"""

import os
import sqlite3
import sys
import threading

ITEMS = 1000
REVIEWS = 6
WAREHOUSES = 3

opened = threading.local()


def connection():
    if not hasattr(opened, "connection"):
        # By way of the module: instrumentation replaces the function there.
        opened.connection = sqlite3.connect(f"file:{os.environ['ITEMS']}?mode=ro&immutable=1", uri=True)
    return opened.connection


def item(number):
    """The item, in JSON about 1 kB; None if there is no such item."""
    # With its own cursor, since the instrumentation does not trace `Connection.execute`.
    cursor = connection().cursor()
    described = cursor.execute("SELECT name, price, description FROM items WHERE id = ?", (number,)).fetchone()
    if described is None:
        return None
    name, price, description = described
    stock = cursor.execute("SELECT warehouse, pieces FROM stock WHERE item = ?", (number,)).fetchall()
    reviews = cursor.execute("SELECT author, stars, text FROM reviews WHERE item = ?", (number,)).fetchall()
    return {
        "id": number,
        "name": name,
        "price": price,
        "description": description,
        "stock": [{"warehouse": warehouse, "pieces": pieces} for warehouse, pieces in stock],
        "reviews": [{"author": author, "stars": stars, "text": text} for author, stars, text in reviews],
    }


def make(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    made = sqlite3.connect(part)
    made.executescript(
        """
        CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL, description TEXT);
        CREATE TABLE stock (item INTEGER, warehouse TEXT, pieces INTEGER);
        CREATE TABLE reviews (item INTEGER, author TEXT, stars INTEGER, text TEXT);
        """
    )
    for number in range(1, ITEMS + 1):
        description = f"Item {number} of {ITEMS}, in the usual size. " * 6
        made.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (number, f"item {number}", number / 4, description))
        for place in range(WAREHOUSES):
            made.execute("INSERT INTO stock VALUES (?, ?, ?)", (number, f"warehouse {place}", number % 7 + place))
        for review in range(REVIEWS):
            text = f"It is what it says it is; number {review} would buy it again."
            made.execute("INSERT INTO reviews VALUES (?, ?, ?, ?)", (number, f"author {review}", review + 2, text))
    made.executescript("CREATE INDEX stock_of ON stock (item); CREATE INDEX reviews_of ON reviews (item);")
    made.close()
    os.replace(part, path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 items.py FILE")
    make(sys.argv[1])
