//! The orders: an in-memory SQLite database with the same data at every launch.

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use crate::route::OrdersRequest;

const CUSTOMERS: u32 = 200;
const ORDERS_EACH: u32 = 50;
const PRODUCTS: u32 = 100;

const SCHEMA: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE products (id INTEGER PRIMARY KEY, price_cents INTEGER NOT NULL);
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        customer_id INTEGER NOT NULL REFERENCES customers,
        placed_on TEXT NOT NULL,
        status TEXT NOT NULL
    );
    CREATE TABLE items (
        order_id INTEGER NOT NULL REFERENCES orders,
        product_id INTEGER NOT NULL REFERENCES products,
        quantity INTEGER NOT NULL,
        PRIMARY KEY (order_id, product_id)
    ) WITHOUT ROWID;
    CREATE INDEX orders_of_customer ON orders (customer_id);
";

const CUSTOMER_SQL: &str = "SELECT name FROM customers WHERE id = ?1";

/// The main statement of a request, also its `db.query.text`.
pub(crate) const ORDERS_SQL: &str = "SELECT o.id, o.placed_on, o.status, count(*), \
    sum(i.quantity * p.price_cents) \
    FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id \
    WHERE o.customer_id = ?1 GROUP BY o.id ORDER BY o.placed_on DESC, o.id DESC LIMIT ?2";

/// The answer to a request for orders.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OrdersPage {
    pub(crate) customer: u32,
    pub(crate) name: String,
    pub(crate) orders: Vec<Order>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Order {
    pub(crate) id: i64,
    pub(crate) placed_on: String,
    pub(crate) status: String,
    pub(crate) items: i64,
    pub(crate) total_cents: i64,
}

/// The database.
pub(crate) struct OrderBook {
    connection: Connection,
}

impl OrderBook {
    /// Creates and fills a database.
    pub(crate) fn seeded() -> Result<OrderBook, rusqlite::Error> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        seed(&mut connection)?;
        Ok(OrderBook { connection })
    }

    /// The newest orders of a customer; `None` when there is no such customer.
    pub(crate) fn newest(
        &self,
        request: OrdersRequest,
    ) -> Result<Option<OrdersPage>, rusqlite::Error> {
        let mut statement = self.connection.prepare_cached(CUSTOMER_SQL)?;
        let name = statement
            .query_row([request.customer], |row| row.get(0))
            .optional()?;
        let Some(name) = name else {
            return Ok(None);
        };
        let mut statement = self.connection.prepare_cached(ORDERS_SQL)?;
        let rows = statement.query_map([request.customer, request.limit], |row| {
            Ok(Order {
                id: row.get(0)?,
                placed_on: row.get(1)?,
                status: row.get(2)?,
                items: row.get(3)?,
                total_cents: row.get(4)?,
            })
        })?;
        let orders = rows.collect::<Result<_, _>>()?;
        Ok(Some(OrdersPage {
            customer: request.customer,
            name,
            orders,
        }))
    }
}

fn seed(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    const STATUSES: [&str; 4] = ["placed", "packed", "shipped", "returned"];
    let transaction = connection.transaction()?;
    {
        let mut customer = transaction.prepare("INSERT INTO customers VALUES (?1, ?2)")?;
        let mut product = transaction.prepare("INSERT INTO products VALUES (?1, ?2)")?;
        let mut order = transaction.prepare("INSERT INTO orders VALUES (?1, ?2, ?3, ?4)")?;
        let mut item = transaction.prepare("INSERT OR IGNORE INTO items VALUES (?1, ?2, ?3)")?;
        let mut draw = Draw(1);
        for id in 1..=PRODUCTS {
            product.execute([id, 99 + 10 * draw.below(500)])?;
        }
        for customer_id in 1..=CUSTOMERS {
            customer.execute(params![customer_id, format!("Customer {customer_id}")])?;
            for n in 0..ORDERS_EACH {
                let id = (customer_id - 1) * ORDERS_EACH + n + 1;
                let placed_on = format!("2025-{:02}-{:02}", 1 + draw.below(12), 1 + draw.below(28));
                let status = STATUSES[draw.below(4) as usize];
                order.execute(params![id, customer_id, placed_on, status])?;
                for _ in 0..1 + draw.below(5) {
                    item.execute([id, 1 + draw.below(PRODUCTS), 1 + draw.below(3)])?;
                }
            }
        }
    }
    transaction.commit()
}

/// Pseudo-random numbers, the same at every launch: the upper half of a linear congruential
/// generator with Knuth's constants.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // The upper half of a u64 always fits.
        ((self.0 >> 32) as u32) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launch_has_the_same_orders() {
        let [one, other] = [OrderBook::seeded().unwrap(), OrderBook::seeded().unwrap()];
        for customer in [1, 77, CUSTOMERS] {
            let request = OrdersRequest {
                customer,
                limit: ORDERS_EACH,
            };
            let page = one.newest(request).unwrap().unwrap();
            assert_eq!(page.orders.len(), ORDERS_EACH as usize);
            assert_eq!(Some(page), other.newest(request).unwrap());
        }
    }

    #[test]
    fn answers_contain_the_newest_orders() {
        let book = OrderBook::seeded().unwrap();
        let page = |limit| {
            book.newest(OrdersRequest { customer: 3, limit })
                .unwrap()
                .unwrap()
                .orders
        };
        let all = page(ORDERS_EACH);
        assert!(all.is_sorted_by(|a, b| (&a.placed_on, a.id) >= (&b.placed_on, b.id)));
        assert!(
            all.iter()
                .all(|order| (1..=5).contains(&order.items) && order.total_cents >= 99)
        );
        assert_eq!(page(7), all[..7]);
    }

    #[test]
    fn unknown_customers_have_no_orders() {
        let book = OrderBook::seeded().unwrap();
        for customer in [0, CUSTOMERS + 1, u32::MAX] {
            assert_eq!(
                book.newest(OrdersRequest { customer, limit: 1 }).unwrap(),
                None
            );
        }
    }
}
