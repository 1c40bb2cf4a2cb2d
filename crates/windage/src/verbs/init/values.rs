//! Values of the flags of `windage init`.

use std::str::FromStr;

/// `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        match text.split_once('=') {
            Some((key, value)) if is_one_word(key) => Ok(Assignment {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("a variable is given as KEY=VALUE".to_owned()),
        }
    }
}

/// `NAME=LEVEL,LEVEL…`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    pub(crate) factor: String,
    /// Levels that look like numbers are numbers.
    pub(crate) levels: Vec<toml::Value>,
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Sweep, String> {
        let (factor, levels) = text
            .split_once('=')
            .filter(|(factor, levels)| {
                is_one_word(factor) && levels.split(',').all(|l| !l.is_empty())
            })
            .ok_or("a sweep is given as NAME=LEVEL,LEVEL such as sampling=1.0,0.1,0.0")?;
        Ok(Sweep {
            factor: factor.to_owned(),
            levels: levels.split(',').map(level).collect(),
        })
    }
}

impl Sweep {
    /// Whether every level is a number.
    pub(crate) fn is_numeric(&self) -> bool {
        let number = |level: &toml::Value| level.is_integer() || level.is_float();
        self.levels.iter().all(number)
    }
}

/// Only plain decimals are numbers; `1e3`, `inf` or `007` keep their form for the service.
fn level(text: &str) -> toml::Value {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let as_toml = text.parse::<toml::Value>().ok().filter(|_| plain);
    as_toml.unwrap_or_else(|| toml::Value::from(text))
}

/// A service that already runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attachment {
    Pid(u32),
    Url(String),
}

impl FromStr for Attachment {
    type Err = String;

    fn from_str(text: &str) -> Result<Attachment, String> {
        if let Ok(pid) = text.parse() {
            Ok(Attachment::Pid(pid))
        } else if text.contains("://") {
            Ok(Attachment::Url(text.to_owned()))
        } else {
            Err("give a process id or an address as http://HOST:PORT".to_owned())
        }
    }
}

fn is_one_word(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables() {
        let table = [
            ("A=b", Some(("A", "b"))),
            ("A=", Some(("A", ""))),
            ("A=b=c d", Some(("A", "b=c d"))),
            ("A", None),
            ("=b", None),
            ("A B=c", None),
            ("A\n=c", None),
        ];
        for (text, expected) in table {
            let read = text.parse::<Assignment>().ok();
            let read = read.as_ref().map(|a| (a.key.as_str(), a.value.as_str()));
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn levels_are_numbers_where_they_look_like_numbers() {
        let table = [
            ("1.0", "1.0", true),
            ("0", "0", true),
            ("1024", "1024", true),
            ("1e3", "\"1e3\"", false),
            ("007", "\"007\"", false),
            ("nan", "\"nan\"", false),
            ("1.", "\"1.\"", false),
            ("200ms", "\"200ms\"", false),
        ];
        for (text, in_toml, numeric) in table {
            let sweep: Sweep = format!("x={text}").parse().unwrap();
            assert_eq!(sweep.levels[0].to_string(), in_toml, "{text}");
            assert_eq!(sweep.is_numeric(), numeric, "{text}");
        }
        for wrong in ["x", "=1", "x=", "x=1,,2", "x=1,"] {
            assert!(wrong.parse::<Sweep>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn attachments() {
        let url = "http://127.0.0.1:80";
        assert_eq!("4711".parse(), Ok(Attachment::Pid(4711)));
        assert_eq!(url.parse(), Ok(Attachment::Url(url.to_owned())));
        assert!("nginx".parse::<Attachment>().is_err());
    }
}
