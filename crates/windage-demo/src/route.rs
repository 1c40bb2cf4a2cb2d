//! Routes, and the parameters of a request.

use hyper::Method;

/// The default number of orders in an answer.
const LIMIT_DEFAULT: u32 = 20;
/// The maximum number of orders in an answer.
const LIMIT_MAX: u32 = 50;

/// The route of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// `/healthz`.
    Health,
    /// `/orders/{customer}`; the segment is not validated yet.
    Orders { customer: &'a str },
    /// Any other path.
    Unknown,
}

impl Route<'_> {
    /// The route of a path.
    pub(crate) fn of(path: &str) -> Route<'_> {
        match path.strip_prefix("/orders/") {
            Some(customer) if !customer.is_empty() && !customer.contains('/') => {
                Route::Orders { customer }
            }
            _ if path == "/healthz" => Route::Health,
            _ => Route::Unknown,
        }
    }

    /// Its template, for `http.route`.
    pub(crate) fn template(self) -> Option<&'static str> {
        match self {
            Route::Health => Some("/healthz"),
            Route::Orders { .. } => Some("/orders/{customer}"),
            Route::Unknown => None,
        }
    }
}

/// The customer, and the number of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrdersRequest {
    pub(crate) customer: u32,
    pub(crate) limit: u32,
}

impl OrdersRequest {
    /// Reads the path's segment and the query. The error is for the client.
    pub(crate) fn parse(
        customer: &str,
        query: Option<&str>,
    ) -> Result<OrdersRequest, &'static str> {
        let customer = customer.parse().map_err(|_| "customer must be a number")?;
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let mut limit = LIMIT_DEFAULT;
        for (_, value) in pairs.filter(|(key, _)| *key == "limit") {
            limit = match value.parse() {
                Ok(limit @ 1..=LIMIT_MAX) => limit,
                _ => return Err("limit must be between 1 and 50"),
            };
        }
        Ok(OrdersRequest { customer, limit })
    }
}

/// Whether a method only reads.
pub(crate) fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_routes() {
        let table = [
            ("/healthz", Route::Health),
            ("/orders/7", Route::Orders { customer: "7" }),
            ("/orders/x", Route::Orders { customer: "x" }),
            ("/orders/", Route::Unknown),
            ("/orders/7/items", Route::Unknown),
            ("/orders", Route::Unknown),
            ("/", Route::Unknown),
        ];
        for (path, route) in table {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }

    #[test]
    fn queries_are_parsed_or_refused() {
        let ok = |customer, limit| Ok(OrdersRequest { customer, limit });
        let bad_limit = Err("limit must be between 1 and 50");
        let table = [
            ("7", None, ok(7, 20)),
            ("7", Some(""), ok(7, 20)),
            ("7", Some("limit=1"), ok(7, 1)),
            ("7", Some("page=2&limit=50&x"), ok(7, 50)),
            ("7", Some("limit=0"), bad_limit),
            ("7", Some("limit=51"), bad_limit),
            ("7", Some("limit="), bad_limit),
            ("7", Some("limit=ten"), bad_limit),
            ("x", None, Err("customer must be a number")),
            ("-1", None, Err("customer must be a number")),
        ];
        for (customer, query, expected) in table {
            assert_eq!(
                OrdersRequest::parse(customer, query),
                expected,
                "{customer} {query:?}"
            );
        }
    }
}
