//! The service's three flags.

use crate::{DemoError, DemoOptions, Telemetry};

pub(crate) const USAGE: &str = "--listen ADDRESS:PORT [--telemetry off|otlp] [--endpoint URL]";

/// Reads `--flag value` and `--flag=value`.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<DemoOptions, DemoError> {
    let (mut listen, mut telemetry, mut endpoint) = (None, None, None);
    while let Some(arg) = args.next() {
        let (flag, value) = match arg.split_once('=') {
            Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
            None => (arg, None),
        };
        let place = match flag.as_str() {
            "--listen" => &mut listen,
            "--telemetry" => &mut telemetry,
            "--endpoint" => &mut endpoint,
            _ => return Err(usage(format!("unknown argument {flag}"))),
        };
        let value = value.or_else(|| args.next());
        let value = value.ok_or_else(|| usage(format!("{flag} needs a value")))?;
        if place.replace(value).is_some() {
            return Err(usage(format!("{flag} is given twice")));
        }
    }
    let listen = listen.ok_or_else(|| usage("--listen is missing".to_owned()))?;
    let listen = listen.parse().map_err(|_| {
        usage(format!(
            "--listen {listen} is not an address such as 127.0.0.1:8080"
        ))
    })?;
    let telemetry = match (telemetry.as_deref(), endpoint) {
        (None | Some("off"), None) => Telemetry::Off,
        (None | Some("off"), Some(_)) => {
            return Err(usage("--endpoint needs --telemetry otlp".to_owned()));
        }
        (Some("otlp"), endpoint) => Telemetry::Otlp { endpoint },
        (Some(other), _) => {
            return Err(usage(format!(
                "--telemetry {other} is neither off nor otlp"
            )));
        }
    };
    Ok(DemoOptions { listen, telemetry })
}

fn usage(problem: String) -> DemoError {
    DemoError::Usage { problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<DemoOptions, String> {
        parse(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_become_options() {
        let otlp = |endpoint: Option<&str>| Telemetry::Otlp {
            endpoint: endpoint.map(str::to_owned),
        };
        let table = [
            ("--listen 127.0.0.1:80", Telemetry::Off),
            ("--listen=127.0.0.1:80 --telemetry off", Telemetry::Off),
            ("--telemetry otlp --listen 127.0.0.1:80", otlp(None)),
            (
                "--listen 127.0.0.1:80 --telemetry=otlp --endpoint=http://h:1/?a=b",
                otlp(Some("http://h:1/?a=b")),
            ),
        ];
        for (line, telemetry) in table {
            let expected = DemoOptions {
                listen: ([127, 0, 0, 1], 80).into(),
                telemetry,
            };
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn wrong_flags_are_named() {
        let table = [
            ("", "--listen is missing"),
            ("--listen", "--listen needs a value"),
            ("--listen here", "--listen here is not an address"),
            (
                "--listen 127.0.0.1:1 --listen 127.0.0.1:2",
                "--listen is given twice",
            ),
            (
                "--listen 127.0.0.1:1 --telemetry on",
                "--telemetry on is neither",
            ),
            (
                "--listen 127.0.0.1:1 --endpoint http://x",
                "--endpoint needs",
            ),
            ("--verbose", "unknown argument --verbose"),
        ];
        for (line, problem) in table {
            let error = parsed(line).unwrap_err();
            assert!(
                error.starts_with(problem) && error.contains(USAGE),
                "{line}: {error}"
            );
        }
    }
}
