//! The command line, read by hand: this program depends on libc alone.

use std::time::Duration;

const USAGE: &str = "usage: floor ADDRESS [--connections 8] [--for 5s]

A closed loop over HTTP/1.1 that makes the system calls and nothing else. It asks ADDRESS, such as
127.0.0.1:8080, for /, and takes all answers to be as long as the first. Prints requests, seconds
and CPU microseconds a request (user and system) as one line of JSON. Give it a core of its own
with taskset.";

const LONGEST_S: f64 = 86_400.0;

#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) address: String,
    pub(crate) connections: usize,
    pub(crate) lasts: Duration,
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut address = None;
    let (mut connections, mut lasts) = (8, Duration::from_secs(5));
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or(format!("{argument} lacks its value\n{USAGE}"))
        };
        match argument.as_str() {
            "--connections" => connections = count(&value()?)?,
            "--for" => lasts = duration(&value()?)?,
            flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}\n{USAGE}")),
            _ => address = Some(argument),
        }
    }
    let address = address.ok_or(USAGE)?;
    Ok(Arguments {
        address,
        connections,
        lasts,
    })
}

fn count(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(|| format!("--connections is {text:?}; give a whole number from 1 on"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit_s) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(""), 1.0),
    };
    number
        .parse()
        .map(|number: f64| number * unit_s)
        .ok()
        .filter(|&seconds| seconds > 0.0 && seconds <= LONGEST_S)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("--for is {text:?}; give seconds or milliseconds, as 5s or 500ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_read() {
        let expected = |connections, ms| Arguments {
            address: "a:1".to_owned(),
            connections,
            lasts: Duration::from_millis(ms),
        };
        assert_eq!(parsed("a:1"), Ok(expected(8, 5_000)));
        let full = "a:1 --connections 64 --for 1.5s";
        assert_eq!(parsed(full), Ok(expected(64, 1_500)));
        assert_eq!(parsed("--for 250ms a:1"), Ok(expected(8, 250)));
    }

    #[test]
    fn mistakes_are_named() {
        let table = [
            ("", "usage"),
            ("a:1 --connections", "--connections lacks"),
            ("a:1 --connections 0", "from 1 on"),
            ("a:1 --for 5", "--for is \"5\""),
            ("a:1 --for 0s", "--for is"),
            ("a:1 --for NaNs", "--for is"),
            ("a:1 --rate 5", "unknown flag --rate"),
        ];
        for (line, expected) in table {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
