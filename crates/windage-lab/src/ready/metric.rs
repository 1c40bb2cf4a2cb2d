//! Readiness by a metric: a service is ready when it is above zero.

use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use windage_sink::{Reach, ScrapeTarget, Scrapes, scrape_once};

use super::LOOK;
use crate::LabError;

/// Asking more often would be much of the service's work while it starts.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// The metric to wait for.
pub(crate) struct MetricCheck {
    target: ScrapeTarget,
    name: String,
    runtime: Runtime,
    asked: Cell<Option<Instant>>,
}

impl MetricCheck {
    /// # Errors
    /// When `url` is not a metrics URL on this machine.
    pub(crate) fn new(url: &str, name: &str) -> Result<MetricCheck, LabError> {
        let unsupported = |error: &dyn fmt::Display| {
            LabError::Unsupported(format!("`ready.metric` `{name}` can't be read: {error}"))
        };
        let select = vec![name.to_owned()];
        Ok(MetricCheck {
            target: ScrapeTarget::new(url, ASK_EVERY, select, Reach::Loopback)
                .map_err(|error| unsupported(&error))?,
            name: name.to_owned(),
            runtime: Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .build()
                .map_err(|error| unsupported(&error))?,
            asked: Cell::new(None),
        })
    }

    /// Whether it is above zero. Between two requests the answer is no.
    pub(crate) fn is_above_zero(&self) -> bool {
        let now = Instant::now();
        let was_asked = |asked: Instant| now.duration_since(asked) < ASK_EVERY;
        if self.asked.get().is_some_and(was_asked) {
            return false;
        }
        self.asked.set(Some(now));
        let scrapes = Mutex::new(Scrapes::default());
        // Inside the runtime: a timeout needs its clock.
        let _ = self
            .runtime
            .block_on(async { timeout(LOOK, scrape_once(&self.target, &scrapes)).await });
        let scrapes = scrapes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut selected = scrapes.selected.iter();
        selected.any(|metric| metric.name == self.name && metric.last > 0.0)
    }
}

impl fmt::Display for MetricCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` above zero at {}", self.name, self.target.url())
    }
}

impl fmt::Debug for MetricCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetricCheck({self})")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Answers once per body; returns its URL.
    fn metrics(bodies: Vec<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for body in bodies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).unwrap();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n";
                let length = body.len();
                let answer =
                    format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        format!("http://{address}/metrics")
    }

    #[test]
    fn a_metric_above_zero_is_found() {
        let table = [
            ("up 1\n", true, "a gauge"),
            ("up{a=\"b\"} 0\nup{a=\"c\"} 2\n", true, "summed up"),
            ("up 0\n", false, "zero"),
            ("up_since 7\n", false, "another metric"),
            ("up NaN\n", false, "not a number"),
            ("{}", false, "not an exposition"),
        ];
        for (body, expected, why) in table {
            let check = MetricCheck::new(&metrics(vec![body]), "up").unwrap();
            assert_eq!(check.is_above_zero(), expected, "{why}");
        }
    }

    #[test]
    fn requests_are_spaced_out() {
        let check = MetricCheck::new(&metrics(vec!["up 0\n", "up 1\n"]), "up").unwrap();
        assert!(!check.is_above_zero());
        assert!(!check.is_above_zero(), "no second request yet");
        std::thread::sleep(ASK_EVERY);
        assert!(check.is_above_zero());
    }

    #[test]
    fn only_this_machine_is_allowed() {
        let error = MetricCheck::new("http://10.1.2.3:80/metrics", "up").unwrap_err();
        assert!(error.to_string().contains("`ready.metric` `up`"), "{error}");
    }
}
