//! Requests as the user writes them, with placeholders for fields.

/// A request as the user writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Such as GET or POST; gRPC calls are always POST.
    pub method: String,
    /// `NAME` or `NAME:PORT`: the value of `Host` or `:authority`, unless `headers` has a `Host`.
    pub authority: String,
    /// Path and query, from `/` on.
    pub path: Text,
    /// Names and values in order. Content-Length is added where needed.
    pub headers: Vec<(String, Text)>,
    /// The content; in gRPC the message without its prefix. May be empty.
    pub body: Text,
}

/// Bytes with fields in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Neighbouring literals are joined, and none is empty.
    parts: Vec<Part>,
}

/// A piece of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Constant bytes.
    Literal(Vec<u8>),
    /// The value of a field, by its index in [`Fields`](crate::Fields).
    Field(usize),
}

impl Text {
    /// A text without fields.
    pub fn literal(bytes: impl Into<Vec<u8>>) -> Text {
        Text::new(vec![Part::Literal(bytes.into())])
    }

    /// The parts in order.
    #[must_use]
    pub fn new(parts: Vec<Part>) -> Text {
        let mut text = Text::default();
        for part in parts {
            match part {
                Part::Literal(bytes) => text.push(&bytes),
                Part::Field(_) => text.parts.push(part),
            }
        }
        text
    }

    /// Joins neighbouring literals and drops empty ones.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The bytes, if they are always the same.
    pub(crate) fn as_literal(&self) -> Option<&[u8]> {
        match &self.parts[..] {
            [] => Some(b""),
            [Part::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Literal(literal)) => literal.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.parts.push(Part::Literal(bytes.to_vec())),
        }
    }

    /// Appends another text.
    pub(crate) fn append(&mut self, other: &Text) {
        for part in &other.parts {
            match part {
                Part::Literal(bytes) => self.push(bytes),
                Part::Field(_) => self.parts.push(part.clone()),
            }
        }
    }

    /// The fields in order, with repeats.
    pub(crate) fn fields(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Field(field) => Some(*field),
            Part::Literal(_) => None,
        })
    }

    /// For people: shows fields as `{…}`.
    pub(crate) fn describe(&self) -> String {
        let show = |part: &Part| match part {
            Part::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Part::Field(_) => "{…}".to_owned(),
        };
        self.parts.iter().map(show).collect()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::literal(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::literal(text)
    }
}
