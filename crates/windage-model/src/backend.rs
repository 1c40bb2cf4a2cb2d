//! How the telemetry receiver behaves: normally, or faulty in one of the ways that backends are.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a receiver does with requests.
///
/// Written as words: `ok`, `slow 200ms`, `slow 50ms..500ms`, `stall`, `stall 10s`, `reject`,
/// `reject 429`, `reject 503 30%`, `reject 429 retry 2s`, `partial 10%`, `reset`, `down`,
/// `down 5s`. [`FromStr`] reads them and [`Display`](fmt::Display) writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Backend {
    /// Every request is accepted and answered at once.
    #[default]
    Ok,
    /// Accepted, but answered after a uniformly random delay between the two.
    Slow {
        /// The shortest delay.
        from: Duration,
        /// The longest delay; the same as `from` for a fixed one.
        to: Duration,
    },
    /// Requests are read and not answered until the stall is over.
    Stall {
        /// How long, from its beginning; `None`: forever.
        lasts: Option<Duration>,
    },
    /// Answered with an error.
    Reject {
        /// The HTTP status, 400 to 599. Over gRPC 429 is RESOURCE_EXHAUSTED, 503 UNAVAILABLE.
        status: u16,
        /// The share of requests, above 0 and up to 1; the others are accepted.
        share: f64,
        /// When the sender may retry: `Retry-After`, over gRPC a `RetryInfo`.
        retry_after: Option<Duration>,
    },
    /// Accepted except for a share of its items, reported to the sender as a partial success.
    Partial {
        /// The share of items (spans, points, records) refused, above 0 and up to 1.
        share: f64,
    },
    /// The request is read, then the connection is reset.
    Reset,
    /// Nothing listens: connections are refused, and open ones are closed.
    Down {
        /// How long, from its beginning; `None`: forever.
        lasts: Option<Duration>,
    },
}

/// Why a text is not a backend behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError(String);

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; a backend is `ok`, `slow 200ms`, `slow 50ms..500ms`, `stall`, `stall 10s`, \
             `reject`, `reject 429`, `reject 503 30%`, `reject 429 retry 2s`, `partial 10%`, \
             `reset`, `down` or `down 5s`",
            self.0
        )
    }
}

impl std::error::Error for BackendError {}

/// The default status of `reject`.
const UNAVAILABLE: u16 = 503;

impl FromStr for Backend {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Backend, BackendError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["ok"] => Ok(Backend::Ok),
            ["slow", times] => slow(times),
            ["stall"] => Ok(Backend::Stall { lasts: None }),
            ["stall", lasts] => Ok(Backend::Stall {
                lasts: Some(duration(lasts)?),
            }),
            ["reject", rest @ ..] => reject(rest),
            ["partial", share] => Ok(Backend::Partial {
                share: percentage(share)?,
            }),
            ["reset"] => Ok(Backend::Reset),
            ["down"] => Ok(Backend::Down { lasts: None }),
            ["down", lasts] => Ok(Backend::Down {
                lasts: Some(duration(lasts)?),
            }),
            _ => Err(BackendError(format!("`{text}` is not a backend"))),
        }
    }
}

fn slow(times: &str) -> Result<Backend, BackendError> {
    let (from, to) = times.split_once("..").unwrap_or((times, times));
    let (from, to) = (duration(from)?, duration(to)?);
    if from > to {
        return Err(BackendError(format!("`{times}` ends before it begins")));
    }
    Ok(Backend::Slow { from, to })
}

fn reject(mut words: &[&str]) -> Result<Backend, BackendError> {
    let (mut status, mut share, mut retry_after) = (UNAVAILABLE, 1.0, None);
    if let [first, rest @ ..] = words
        && let Ok(number) = first.parse()
    {
        if !(400..=599).contains(&number) {
            return Err(BackendError(format!(
                "{number} is not an error status (400 to 599)"
            )));
        }
        (status, words) = (number, rest);
    }
    if let [first, rest @ ..] = words
        && first.ends_with('%')
    {
        (share, words) = (percentage(first)?, rest);
    }
    match words {
        [] => {}
        ["retry", after] => retry_after = Some(duration(after)?),
        [odd, ..] => {
            return Err(BackendError(format!("unexpected `{odd}` after `reject`")));
        }
    }
    Ok(Backend::Reject {
        status,
        share,
        retry_after,
    })
}

/// A percentage above 0 and up to 100, as a share.
fn percentage(text: &str) -> Result<f64, BackendError> {
    text.strip_suffix('%')
        .and_then(|number| number.parse::<f64>().ok())
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| BackendError(format!("`{text}` is not a share such as `10%`")))
}

/// A duration as plans write it, in whole milliseconds and at most an hour; backends need no more.
fn duration(text: &str) -> Result<Duration, BackendError> {
    const HOUR: Duration = Duration::from_secs(3600);
    let is_whole = |duration: &Duration| duration.subsec_nanos().is_multiple_of(1_000_000);
    humantime::parse_duration(text)
        .ok()
        .filter(|duration| is_whole(duration) && !duration.is_zero() && *duration <= HOUR)
        .ok_or_else(|| {
            BackendError(format!(
                "`{text}` is not a duration from 1ms to 1h, such as `200ms` or `5s`"
            ))
        })
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Backend::Ok => f.write_str("ok"),
            Backend::Slow { from, to } if from == to => write!(f, "slow {}", Written(from)),
            Backend::Slow { from, to } => write!(f, "slow {}..{}", Written(from), Written(to)),
            Backend::Stall { lasts: None } => f.write_str("stall"),
            Backend::Stall { lasts: Some(lasts) } => write!(f, "stall {}", Written(lasts)),
            Backend::Reject {
                status,
                share,
                retry_after,
            } => {
                write!(f, "reject {status}")?;
                if share < 1.0 {
                    write!(f, " {}%", percent(share))?;
                }
                match retry_after {
                    Some(after) => write!(f, " retry {}", Written(after)),
                    None => Ok(()),
                }
            }
            Backend::Partial { share } => write!(f, "partial {}%", percent(share)),
            Backend::Reset => f.write_str("reset"),
            Backend::Down { lasts: None } => f.write_str("down"),
            Backend::Down { lasts: Some(lasts) } => write!(f, "down {}", Written(lasts)),
        }
    }
}

/// Without floating-point residue (0.07 × 100 is 7.000000000000001).
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// A time in the form it is read: whole seconds, or else milliseconds.
struct Written(Duration);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{}s", self.0.as_secs())
        } else {
            write!(f, "{}ms", self.0.as_millis())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written_back() {
        let ms = Duration::from_millis;
        let table = [
            ("ok", Backend::Ok, "ok"),
            (
                "slow 1500ms",
                Backend::Slow {
                    from: ms(1500),
                    to: ms(1500),
                },
                "slow 1500ms",
            ),
            (
                "slow  50ms..2s",
                Backend::Slow {
                    from: ms(50),
                    to: ms(2000),
                },
                "slow 50ms..2s",
            ),
            ("stall", Backend::Stall { lasts: None }, "stall"),
            (
                "stall 10000ms",
                Backend::Stall {
                    lasts: Some(ms(10_000)),
                },
                "stall 10s",
            ),
            (
                "reject",
                Backend::Reject {
                    status: 503,
                    share: 1.0,
                    retry_after: None,
                },
                "reject 503",
            ),
            (
                "reject 429 7% retry 2s",
                Backend::Reject {
                    status: 429,
                    share: 0.07,
                    retry_after: Some(ms(2000)),
                },
                "reject 429 7% retry 2s",
            ),
            (
                "partial 12.5%",
                Backend::Partial { share: 0.125 },
                "partial 12.5%",
            ),
            ("reset", Backend::Reset, "reset"),
            ("down", Backend::Down { lasts: None }, "down"),
            (
                "down 5s",
                Backend::Down {
                    lasts: Some(ms(5000)),
                },
                "down 5s",
            ),
        ];
        for (text, backend, written) in table {
            assert_eq!(text.parse(), Ok(backend), "{text}");
            assert_eq!(backend.to_string(), written);
            assert_eq!(written.parse(), Ok(backend), "{written}");
        }
    }

    #[test]
    fn errors_name_the_offending_part() {
        let table = [
            ("", "``"),
            ("OK", "`OK`"),
            ("slow", "`slow`"),
            ("slow 2h", "`2h`"),
            ("slow 1us", "`1us`"),
            ("slow 0ms", "`0ms`"),
            ("slow 2s..1s", "`2s..1s`"),
            ("stall 3601s", "`3601s`"),
            ("reject 200", "200"),
            ("reject 429 after 2s", "`after`"),
            ("partial", "`partial`"),
            ("partial 0%", "`0%`"),
            ("partial 101%", "`101%`"),
            ("down -5s", "`-5s`"),
        ];
        for (text, named) in table {
            let error = text.parse::<Backend>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
