//! Formats in which a process exposes its metrics: Prometheus text 0.0.4 and 1.0, OpenMetrics text
//! 1.0.
//!
//! Existing crates lose samples silently: `prometheus-parse` those with a `}` in a label, such as a
//! route, or with a colon in the name. This parser reads each line or refuses the text.
//! References: <https://prometheus.io/docs/instrumenting/exposition_formats/>,
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::borrow::Cow;

use thiserror::Error;

/// The formats, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// Prometheus text.
    Text,
    /// OpenMetrics text. It ends with `# EOF`, so that a cut one is recognised.
    OpenMetrics,
}

/// What one exposition holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition {
    /// Samples: lines with a value.
    pub samples: u64,
    /// The selected names that were found, in the order requested, with the sum of their samples
    /// over all label sets. Samples that are not finite are left out.
    pub selected: Vec<(String, f64)>,
}

/// Why a text is not a valid exposition.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct ExpositionError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Reads an exposition, and sums the samples whose name is in `select`.
///
/// # Errors
///
/// At the first line that is neither a sample nor a comment, and when an OpenMetrics text has no
/// end or goes on after it.
pub fn parse_exposition(
    format: ExpositionFormat,
    text: &[u8],
    select: &[String],
) -> Result<Exposition, ExpositionError> {
    let at_line = |line| move |reason| ExpositionError { line, reason };
    let text = std::str::from_utf8(text).map_err(|error| {
        let before = &text[..error.valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        at_line(line)("not UTF-8")
    })?;
    let mut reader = Reader::new(select);
    let mut lines = 0;
    for line in text.split_terminator('\n') {
        lines += 1;
        if reader.is_over && format == ExpositionFormat::OpenMetrics {
            return Err(at_line(lines)("the text goes on after `# EOF`"));
        }
        reader.line(line).map_err(at_line(lines))?;
    }
    if !reader.is_over && format == ExpositionFormat::OpenMetrics {
        return Err(at_line(lines + 1)(
            "the text ends without `# EOF`; it was cut",
        ));
    }
    Ok(reader.exposition())
}

/// The parser's state.
struct Reader<'a> {
    samples: u64,
    /// The sum for each name; `None` until it is found.
    selected: Vec<(&'a str, Option<f64>)>,
    /// The last line of OpenMetrics was read.
    is_over: bool,
}

impl<'a> Reader<'a> {
    fn new(select: &'a [String]) -> Reader<'a> {
        Reader {
            samples: 0,
            selected: select.iter().map(|name| (name.as_str(), None)).collect(),
            is_over: false,
        }
    }

    fn line(&mut self, line: &'a str) -> Result<(), &'static str> {
        let line = line.trim_matches(BLANKS);
        if let Some(comment) = line.strip_prefix('#') {
            self.is_over |= comment == " EOF";
            return Ok(());
        }
        if line.is_empty() {
            return Ok(());
        }
        let Sample { name, value } = Sample::read(line)?;
        self.samples += 1;
        for (_, sum) in self.selected.iter_mut().filter(|(of, _)| *of == name) {
            *sum = Some(sum.unwrap_or(0.0) + if value.is_finite() { value } else { 0.0 });
        }
        Ok(())
    }

    fn exposition(self) -> Exposition {
        let found = |(name, sum): (&str, Option<f64>)| Some((name.to_owned(), sum?));
        Exposition {
            samples: self.samples,
            selected: self.selected.into_iter().filter_map(found).collect(),
        }
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// A line with a value.
struct Sample<'a> {
    name: Cow<'a, str>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn read(line: &'a str) -> Result<Sample<'a>, &'static str> {
        let mut rest = Rest(line);
        let mut name = if line.starts_with('{') {
            None
        } else {
            Some(Cow::Borrowed(rest.name()?))
        };
        rest.blanks();
        if rest.takes('{') {
            let quoted = rest.labels()?;
            if name.is_some() && quoted.is_some() {
                return Err("a sample has two names");
            }
            name = name.or(quoted);
        }
        let name = name.ok_or("a sample has no name")?;
        let value = rest.number()?.ok_or("a sample has no value")?;
        rest.number()?; // A timestamp.
        rest.exemplar()?;
        if rest.0.is_empty() {
            Ok(Sample { name, value })
        } else {
            Err("text follows a sample's value and timestamp")
        }
    }
}

/// The rest of a line.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn blanks(&mut self) {
        self.0 = self.0.trim_start_matches(BLANKS);
    }

    fn takes(&mut self, wanted: char) -> bool {
        let rest = self.0.strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !is_part(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// A metric or label name without quotes.
    fn name(&mut self) -> Result<&'a str, &'static str> {
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
        match name.chars().next() {
            Some(first) if !first.is_ascii_digit() => Ok(name),
            _ => Err("a name begins with a letter, an underscore or a colon"),
        }
    }

    /// Quoted text, unescaped.
    fn quoted(&mut self) -> Result<Cow<'a, str>, &'static str> {
        const NO_END: &str = "a text in quotes has no end";
        let inner = self
            .0
            .strip_prefix('"')
            .ok_or("a label's value has no quotes")?;
        let plain = inner.find(['"', '\\']).ok_or(NO_END)?;
        if let Some(rest) = inner[plain..].strip_prefix('"') {
            self.0 = rest;
            return Ok(Cow::Borrowed(&inner[..plain]));
        }
        let mut text = inner[..plain].to_owned();
        let mut chars = inner[plain..].chars();
        loop {
            match chars.next().ok_or(NO_END)? {
                '"' => break,
                '\\' => text.push(match chars.next().ok_or(NO_END)? {
                    'n' => '\n',
                    escaped => escaped,
                }),
                plain => text.push(plain),
            }
        }
        self.0 = chars.as_str();
        Ok(Cow::Owned(text))
    }

    /// Labels up to the closing brace. The first one is the metric's name if it is quoted and has
    /// no value.
    fn labels(&mut self) -> Result<Option<Cow<'a, str>>, &'static str> {
        let mut metric = None;
        let mut is_first = true;
        loop {
            self.blanks();
            if self.takes('}') {
                return Ok(metric);
            }
            let label = if self.0.starts_with('"') {
                Some(self.quoted()?)
            } else {
                self.name()?;
                None
            };
            self.blanks();
            if self.takes('=') {
                self.blanks();
                self.quoted()?;
            } else if is_first && label.is_some() {
                metric = label;
            } else {
                return Err("a label has no value");
            }
            is_first = false;
            self.blanks();
            if !self.takes(',') && !self.0.starts_with('}') {
                return Err("labels are not separated by commas, or have no closing brace");
            }
        }
    }

    /// A number, if there is one before the exemplar or the end.
    fn number(&mut self) -> Result<Option<f64>, &'static str> {
        self.blanks();
        if self.0.is_empty() || self.0.starts_with('#') {
            return Ok(None);
        }
        let digits = self.take_while(|c| !BLANKS.contains(&c));
        let number = digits.parse();
        number
            .map(Some)
            .map_err(|_| "a value or timestamp is not a number")
    }

    /// What OpenMetrics allows after a sample: labels and a value, such as a trace's.
    fn exemplar(&mut self) -> Result<(), &'static str> {
        self.blanks();
        if !self.takes('#') {
            return Ok(());
        }
        self.blanks();
        if !self.takes('{') || self.labels()?.is_some() {
            return Err("an exemplar has no labels");
        }
        self.number()?.ok_or("an exemplar has no value")?;
        self.number()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
