// Carts, kept in Redis.
//
//     node cart.js ADDRESS:PORT REDIS_ADDRESS:PORT CHECKOUT_ADDRESS:PORT
//
// GET /carts/USER, and POST /carts/USER/items with {"product": 3, "quantity": 1}, answer with the cart:
// {"lines": [{"product": 3, "quantity": 1}]}. POST /carts/USER/checkout passes it to the checkout, returns
// the checkout's answer, and empties the cart after a purchase.

'use strict';

const http = require('node:http');
const { createClient } = require('redis');

const ABANDONED_AFTER_S = 600;
const REDIS_WITHIN_MS = 30_000;
const ANSWER_WITHIN_MS = 5_000;
const BODY_LENGTH = 64 * 1024;

/** A client's error. */
class Wrong extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const keyOf = (user) => `cart:${user}`;

async function look({ redis }, user) {
  return cart(await redis.hGetAll(keyOf(user)));
}

async function add({ redis }, user, { product, quantity }) {
  for (const number of [product, quantity]) {
    if (!Number.isInteger(number) || number < 1) throw new Wrong(400, 'product and quantity are numbers from 1 on');
  }
  const key = keyOf(user);
  const [, , lines] = await redis.multi()
    .hIncrBy(key, String(product), quantity)
    .expire(key, ABANDONED_AFTER_S)
    .hGetAll(key)
    .exec();
  return cart(lines);
}

async function checkOut({ redis, checkout }, user, headers) {
  const bought = { user, ...cart(await redis.hGetAll(keyOf(user))) };
  const order = await post(checkout, '/orders', bought, headers);
  await redis.del(keyOf(user));
  return order;
}

function cart(lines) {
  const numbers = Object.entries(lines).map(([product, quantity]) => ({ product: Number(product), quantity: Number(quantity) }));
  return { lines: numbers.sort((one, other) => one.product - other.product) };
}

/** The contents of a stream, as text. */
async function read(stream) {
  // Chunks may end anywhere, even within a character.
  stream.setEncoding('utf8');
  let text = '';
  for await (const piece of stream) {
    text += piece;
    if (text.length > BODY_LENGTH) throw new Wrong(413, 'that is too long');
  }
  return text;
}

/** A client's body, parsed as JSON. */
async function readJson(request) {
  const text = await read(request);
  try {
    return JSON.parse(text);
  } catch {
    throw new Wrong(400, 'that is no JSON');
  }
}

const connections = new http.Agent({ keepAlive: true });

/** Posts JSON and returns the answer's JSON; propagates the trace context. */
function post(address, path, content, { traceparent }) {
  const body = JSON.stringify(content);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  if (traceparent) headers.traceparent = traceparent;
  return new Promise((resolve, reject) => {
    const request = http.request(`http://${address}${path}`, { method: 'POST', agent: connections, headers });
    request.setTimeout(ANSWER_WITHIN_MS, () => request.destroy(new Error('the checkout does not answer')));
    request.on('error', reject);
    request.on('response', async (response) => {
      try {
        const said = await read(response);
        if (response.statusCode === 200) {
          resolve(JSON.parse(said));
        } else {
          reject(new Wrong(response.statusCode, said.trim()));
        }
      } catch (error) {
        // Never the client's fault.
        reject(new Error(`the checkout's answer: ${error.message}`));
      }
    });
    request.end(body);
  });
}

async function route(stores, request) {
  const [, carts, user, what, ...rest] = request.url.split('/');
  if (carts === 'carts' && user && rest.length === 0) {
    if (request.method === 'GET' && what === undefined) return look(stores, user);
    if (request.method === 'POST' && what === 'items') return add(stores, user, await readJson(request));
    if (request.method === 'POST' && what === 'checkout') return checkOut(stores, user, request.headers);
  }
  throw new Wrong(404, 'there is no such thing');
}

function answer(response, status, content) {
  const body = JSON.stringify(content);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function serve(stores) {
  return http.createServer(async (request, response) => {
    try {
      answer(response, 200, await route(stores, request));
    } catch (error) {
      answer(response, error.status ?? 502, { error: error.message });
    }
  });
}

async function connect(address) {
  const until = Date.now() + REDIS_WITHIN_MS;
  let connected = false;
  const redis = createClient({
    url: `redis://${address}`,
    socket: { reconnectStrategy: (_, cause) => (connected || Date.now() < until ? 50 : cause) },
  });
  // Without a listener an error ends the process; the client connects again by itself.
  redis.on('error', () => {});
  await redis.connect();
  connected = true;
  return redis;
}

async function main([listen, redisAddress, checkout]) {
  const redis = await connect(redisAddress);
  const server = serve({ redis, checkout });
  // Connections outlive every window, and pauses between them.
  server.keepAliveTimeout = 0;
  const [address, port] = listen.split(':');
  server.listen(Number(port), address);
  process.on('SIGTERM', () => {
    server.close(() => redis.close());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1000).unref();
  });
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`cart: ${error.message}`);
  process.exit(1);
});
