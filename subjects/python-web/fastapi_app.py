"""Items over FastAPI. The handler is a plain function, as its guide has it for a driver that blocks:
it runs on a thread of the pool."""

from fastapi import FastAPI, HTTPException

import items

app = FastAPI()


@app.get("/items/{number}")
def item(number: int):
    found = items.item(number)
    if found is None:
        raise HTTPException(status_code=404)
    return found
