-- Items, sellers and reviews. The database runs it itself when it is opened first, so that an agent sees nothing of it.
CREATE TABLE IF NOT EXISTS seller (id INTEGER PRIMARY KEY, name VARCHAR, city VARCHAR, since INTEGER) AS
SELECT x, 'Seller ' || x, 'City ' || MOD(x, 7), 2000 + MOD(x, 20) FROM SYSTEM_RANGE(1, 50);

CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name VARCHAR, price_cents INTEGER, description VARCHAR, seller INTEGER) AS
SELECT x, 'Item ' || x, 100 + 7 * x, REPEAT('What there is to say about item ' || x || '. ', 15), 1 + MOD(x, 50)
FROM SYSTEM_RANGE(1, 1000);

CREATE TABLE IF NOT EXISTS review (item INTEGER, stars INTEGER, text VARCHAR) AS
SELECT 1 + MOD(x, 1000), 1 + MOD(x, 5), 'Review ' || x || ' of an item: it does what it should.'
FROM SYSTEM_RANGE(0, 4999);

CREATE INDEX IF NOT EXISTS review_of_item ON review (item);
