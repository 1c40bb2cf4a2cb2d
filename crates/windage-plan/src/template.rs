//! Text with `{placeholders}`.

use std::fmt;

/// Text with `{placeholders}`, parsed once.
///
/// `{name}` is a placeholder if `name` matches `[a-z][a-z0-9_.]*`; `{{name}}` is a literal
/// `{name}`. All other braces are left unchanged, so that configuration files can be templates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    source: String,
    segments: Vec<Segment>,
}

/// A stretch of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Literal text; never empty.
    Text(String),
    /// A placeholder's name, without braces.
    Placeholder(String),
}

/// Why a template can't be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The caller has no value for a placeholder.
    #[error(
        "unknown placeholder `{{{name}}}` in `{template}`; write `{{{{{name}}}}}` for literal braces"
    )]
    Unfilled {
        /// The placeholder's name, without braces.
        name: String,
        /// The template as written.
        template: String,
    },
}

impl Template {
    /// Parses a template. Every text is valid: what is not a placeholder is literal.
    #[must_use]
    pub fn parse(source: &str) -> Template {
        let mut segments = Vec::new();
        let mut literal = String::new();
        let mut rest = source;
        while let Some(open) = rest.find('{') {
            literal.push_str(&rest[..open]);
            rest = &rest[open..];
            if let Some((name, after)) = escaped(rest) {
                literal.push('{');
                literal.push_str(name);
                literal.push('}');
                rest = after;
            } else if let Some((name, after)) = braced(rest) {
                if !literal.is_empty() {
                    segments.push(Segment::Text(std::mem::take(&mut literal)));
                }
                segments.push(Segment::Placeholder(name.to_owned()));
                rest = after;
            } else {
                literal.push('{');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            segments.push(Segment::Text(literal));
        }
        Template {
            source: source.to_owned(),
            segments,
        }
    }

    /// Its segments, in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The names of its placeholders, without braces, in order and with repetitions.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder(name) => Some(name.as_str()),
            Segment::Text(_) => None,
        })
    }

    /// The text with every placeholder filled.
    ///
    /// # Errors
    ///
    /// When `fill` has no value for a placeholder.
    pub fn render(&self, fill: &dyn Fn(&str) -> Option<String>) -> Result<String, TemplateError> {
        let mut out = String::with_capacity(self.source.len());
        for segment in &self.segments {
            match segment {
                Segment::Text(text) => out.push_str(text),
                Segment::Placeholder(name) => {
                    out.push_str(&fill(name).ok_or_else(|| TemplateError::Unfilled {
                        name: name.clone(),
                        template: self.source.clone(),
                    })?);
                }
            }
        }
        Ok(out)
    }

    /// The template as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The placeholder's name, if the whole text is one placeholder.
    pub(crate) fn sole_placeholder(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [Segment::Placeholder(name)] => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// `{{name}}` at the start of `text`: the name and what follows.
fn escaped(text: &str) -> Option<(&str, &str)> {
    let (name, after) = braced(text.strip_prefix('{')?)?;
    Some((name, after.strip_prefix('}')?))
}

/// `{name}` at the start of `text`: the name and what follows.
fn braced(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find(|c: char| {
        !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.'))
    })?;
    let (name, after) = inner.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    Some((name, after.strip_prefix('}')?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn angle(name: &str) -> Option<String> {
        Some(format!("<{name}>"))
    }

    #[test]
    fn braces_are_placeholders_only_around_names() {
        let table = [
            ("plain", "plain", "no braces"),
            ("{app}", "<app>", "a name"),
            (
                "a{app.port}b{arm}",
                "a<app.port>b<arm>",
                "dots and text between",
            ),
            ("{{app}}", "{app}", "doubled braces are literal"),
            ("{{{app}}}", "{{app}}", "tripled braces give doubled ones"),
            ("{ app }", "{ app }", "spaces"),
            ("{App}", "{App}", "capitals"),
            ("{1a}", "{1a}", "a leading digit"),
            ("{}", "{}", "no name"),
            ("{\"a\": {b}}", "{\"a\": <b>}", "JSON around a placeholder"),
            (
                "http {\n  server { listen {listen}; }\n}",
                "http {\n  server { listen <listen>; }\n}",
                "blocks",
            ),
            ("{app", "{app", "never closed"),
            ("app}", "app}", "never opened"),
            ("{{app}", "{<app>", "an odd brace is text"),
            ("{é{app}", "{é<app>", "beyond ASCII"),
        ];
        for (source, rendered, why) in table {
            assert_eq!(
                Template::parse(source).render(&angle).unwrap(),
                rendered,
                "{why}"
            );
        }
    }

    #[test]
    fn unknown_placeholders_are_named() {
        let error = Template::parse("{a}{b}")
            .render(&|n| (n == "a").then(String::new))
            .unwrap_err();
        let TemplateError::Unfilled { name, template } = &error;
        assert_eq!((name.as_str(), template.as_str()), ("b", "{a}{b}"));
        assert_eq!(
            error.to_string(),
            "unknown placeholder `{b}` in `{a}{b}`; write `{{b}}` for literal braces"
        );
    }

    #[test]
    fn a_sole_placeholder_is_the_whole_text() {
        assert_eq!(Template::parse("{a}").sole_placeholder(), Some("a"));
        for more in ["", "a", "{a}b", "{a}{b}", "{{a}}"] {
            assert_eq!(Template::parse(more).sole_placeholder(), None, "{more}");
        }
    }

    proptest! {
        #[test]
        fn printed_templates_parse_to_the_same(source in r"[a-z{}. é]{0,24}") {
            let template = Template::parse(&source);
            prop_assert_eq!(template.to_string(), source.clone());
            prop_assert_eq!(Template::parse(&template.to_string()), template);
        }

        #[test]
        fn placeholders_are_filled(names in prop::collection::vec("[a-z][a-z0-9_.]{0,6}", 0..5)) {
            let source: String = names.iter().map(|name| format!("-{{{name}}}")).collect();
            let template = Template::parse(&source);
            prop_assert_eq!(template.placeholders().collect::<Vec<_>>(), names.clone());
            let rendered: String = names.iter().map(|name| format!("-<{name}>")).collect();
            prop_assert_eq!(template.render(&angle).unwrap(), rendered);
        }
    }
}
