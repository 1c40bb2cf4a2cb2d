"""Items over Flask."""

from flask import Flask, abort

import items

app = Flask(__name__)


@app.get("/items/<int:number>")
def item(number):
    found = items.item(number)
    if found is None:
        abort(404)
    return found
