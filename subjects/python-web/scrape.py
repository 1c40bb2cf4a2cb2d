"""Fetches a URL once a second, until it is ended: `python3 scrape.py URL`."""

import sys
import time
from urllib.request import urlopen

while True:
    time.sleep(1)
    with urlopen(sys.argv[1], timeout=5) as answer:
        answer.read()
