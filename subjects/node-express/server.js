// A web service without telemetry; an agent that is preloaded instruments it.
//
//     node server.js ADDRESS:PORT
//
// GET /items/{id} looks up an item, its seller and its reviews in memory and answers about 1 KB.

'use strict';

const express = require('express');

const ITEMS = 1000;
const SELLERS = 50;
const REVIEWS_OF_AN_ITEM = 5;

const items = new Map();
const sellers = new Map();
const reviews = new Map();
fill();

const app = express();
app.disable('x-powered-by');
app.use(express.json());
app.use(noStore);
app.get('/items/:id', showItem);

const [address, port] = process.argv[2].split(':');
const server = app.listen(Number(port), address, (error) => {
  if (error) throw error;
});
// Connections outlive every window, and pauses between them.
server.keepAliveTimeout = 0;
process.on('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});

function fill() {
  for (let id = 1; id <= SELLERS; id++) {
    sellers.set(id, { name: `Seller ${id}`, city: `City ${id % 7}`, since: 2000 + (id % 20) });
  }
  for (let id = 1; id <= ITEMS; id++) {
    const description = `What there is to say about item ${id}. `.repeat(15);
    items.set(id, { name: `Item ${id}`, price_cents: 100 + 7 * id, seller: 1 + (id % SELLERS), description });
    reviews.set(id, Array.from({ length: REVIEWS_OF_AN_ITEM }, (_, number) => (
      { stars: 1 + ((id + number) % 5), text: `Review ${number} of item ${id}: it does what it should.` }
    )));
  }
}

function noStore(request, response, next) {
  response.set('cache-control', 'no-store');
  next();
}

function showItem(request, response) {
  const id = Number(request.params.id);
  const item = items.get(id);
  if (!item) {
    response.status(404).json({ error: 'no such item' });
    return;
  }
  response.json({ id, ...item, seller: sellers.get(item.seller), reviews: reviews.get(id) });
}
