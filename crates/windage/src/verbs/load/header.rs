//! Headers from flags, some of them secret.

use windage_plan::environment_variable;

/// A header of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(super) name: String,
    pub(super) value: HeaderValue,
}

/// Where a header's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderValue {
    /// The flag itself.
    Literal(String),
    /// An environment variable, whose value is sent but never shown.
    Environment(String),
}

impl Header {
    /// Parses `Name: value`. Which names and values are valid is checked when the request is built.
    pub(super) fn parse(text: &str) -> Result<Header, String> {
        let (name, value) = text
            .split_once(':')
            .ok_or("a header is written as 'Name: value'")?;
        let (name, value) = (name.trim(), value.trim());
        if value.contains("${") {
            return Err("write a variable as $NAME, without braces, as the whole value".into());
        }
        let value = match environment_variable(value) {
            Some(variable) if variable.len() + 1 == value.len() => {
                HeaderValue::Environment(variable.to_owned())
            }
            Some(variable) => {
                return Err(format!(
                    "${variable} is replaced only if it is the whole value; put the whole value \
                 into the variable"
                ));
            }
            None => HeaderValue::Literal(value.to_owned()),
        };
        Ok(Header {
            name: name.to_owned(),
            value,
        })
    }

    /// The value to send; the variable's name if the variable is not set or not text.
    pub(super) fn value(&self) -> Result<String, &str> {
        match &self.value {
            HeaderValue::Literal(value) => Ok(value.clone()),
            HeaderValue::Environment(variable) => {
                std::env::var(variable).map_err(|_| variable.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_split_at_the_first_colon() {
        let table = [
            ("A: b", "A", HeaderValue::Literal("b".into())),
            ("A:b:c", "A", HeaderValue::Literal("b:c".into())),
            ("A:", "A", HeaderValue::Literal(String::new())),
            ("Price: $5", "Price", HeaderValue::Literal("$5".into())),
            ("A: $B_1", "A", HeaderValue::Environment("B_1".into())),
        ];
        for (text, name, value) in table {
            let name = name.to_owned();
            assert_eq!(Header::parse(text), Ok(Header { name, value }), "{text}");
        }
        for wrong in ["no colon", "A: Bearer $TOKEN", "A: $TOKEN;", "A: ${TOKEN}"] {
            assert!(Header::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let header = Header::parse("A: $WINDAGE_TEST_NOT_SET").unwrap();
        assert_eq!(header.value(), Err("WINDAGE_TEST_NOT_SET"));
    }
}
