//! What all rules check with: problems, bounds, and keys of one simple type.

use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use crate::wire::Spanned;

use super::site::{Site, Use};
use crate::problem::choices;
use crate::wire::{Scalar, Text};
use crate::{Problem, RESERVED_PLACEHOLDERS, Template, units};

/// A day: the longest wait that a plan may ask for.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest wait where zero makes no sense.
pub(super) const INSTANT: Duration = Duration::from_micros(1);
/// Bounds of a duration that must be above zero.
pub(super) const PATIENCE: RangeInclusive<Duration> = INSTANT..=DAY;
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
/// Bounds of a duration that zero switches off.
pub(super) const PAUSE: RangeInclusive<Duration> = Duration::ZERO..=HOUR;

/// Collects problems, and the templates whose placeholders are checked at the end.
pub(super) struct Checker<'a> {
    pub(super) text: &'a str,
    pub(super) folder: &'a Path,
    pub(super) problems: Vec<Problem>,
    pub(super) uses: Vec<Use>,
}

impl Checker<'_> {
    pub(super) fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reads a template and keeps it for the check of its placeholders.
    pub(super) fn template(&mut self, text: &Text, site: Site) -> Template {
        self.no_nul(text);
        self.placeholders_of(text.get_ref(), text.span(), site)
    }

    /// The same for text that is part of the value at `span`.
    pub(super) fn placeholders_of(
        &mut self,
        text: &str,
        span: Range<usize>,
        site: Site,
    ) -> Template {
        let template = Template::parse(text);
        self.uses.push(Use {
            template: template.clone(),
            span,
            site,
            file: None,
        });
        template
    }

    pub(super) fn templates(&mut self, texts: &[Text], site: &Site) -> Vec<Template> {
        texts
            .iter()
            .map(|text| self.template(text, site.clone()))
            .collect()
    }

    /// No argument, environment value or path can hold a NUL byte.
    pub(super) fn no_nul(&mut self, text: &Text) {
        if text.get_ref().contains('\0') {
            let message = "text with a NUL byte can't be passed to a program";
            self.report(Problem::new(text.span(), message, "remove `\\u0000`"));
        }
    }

    /// A command must name a program.
    pub(super) fn words(&mut self, words: &[Text], span: Range<usize>) {
        match words.first() {
            None => self.report(
                Problem::new(span, "an empty command", "no program here").help(
                    "give the program and its arguments, such as [\"bin/app\", \"-listen\", \"{listen}\"]",
                ),
            ),
            Some(program) if program.get_ref().is_empty() => {
                self.report(Problem::new(
                    program.span(),
                    "an empty program name",
                    "no program here",
                ));
            }
            Some(_) => {}
        }
    }

    /// A duration within bounds, or the default.
    pub(super) fn duration(
        &mut self,
        key: &str,
        given: Option<&Text>,
        default: Duration,
        bounds: RangeInclusive<Duration>,
    ) -> Duration {
        let Some(text) = given else { return default };
        match units::parse_duration(text.get_ref()) {
            Ok(duration) if bounds.contains(&duration) => return duration,
            Ok(duration) => {
                let low = units::print_duration(*bounds.start());
                let high = units::print_duration(*bounds.end());
                let message = if duration.is_zero() {
                    format!("`{key}` must be above zero")
                } else {
                    format!("`{key}` must lie between {low} and {high}")
                };
                self.report(Problem::new(text.span(), message, "out of bounds"));
            }
            Err(message) => self.report(Problem::new(text.span(), message, "not a duration")),
        }
        default
    }

    /// Starts per second; `None` for an invalid rate.
    pub(super) fn rate(&mut self, text: &Text) -> Option<f64> {
        let parsed = units::parse_rate(text.get_ref());
        let report = |message| self.report(Problem::new(text.span(), message, "not a usable rate"));
        parsed.map_err(report).ok()
    }

    /// A whole number within bounds, or the default.
    pub(super) fn integer<N: TryFrom<i64> + Copy>(
        &mut self,
        key: &str,
        given: Option<&crate::wire::Spanned<i64>>,
        default: N,
        bounds: RangeInclusive<i64>,
    ) -> N {
        let Some(value) = given else { return default };
        let number = *value.get_ref();
        match N::try_from(number) {
            Ok(checked) if bounds.contains(&number) => checked,
            _ => {
                let message = match *bounds.end() {
                    i64::MAX => format!("`{key}` must be {} or more", bounds.start()),
                    end => format!("`{key}` must lie between {} and {end}", bounds.start()),
                };
                self.report(Problem::new(value.span(), message, "out of bounds"));
                default
            }
        }
    }

    /// One of a few words, or the default.
    pub(super) fn word<W: Copy>(
        &mut self,
        key: &str,
        given: Option<&Text>,
        default: W,
        words: &[(&str, W)],
    ) -> W {
        let Some(text) = given else { return default };
        if let Some((_, word)) = words.iter().find(|(word, _)| word == text.get_ref()) {
            return *word;
        }
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("`{}` is not a value of `{key}`", text.get_ref());
        self.report(
            Problem::new(text.span(), message, "unknown word")
                .help(choices(text.get_ref(), &allowed)),
        );
        default
    }

    /// A share of at least 0 and below 1, or `None` when a problem was reported.
    pub(super) fn share(&mut self, key: &str, value: &Spanned<Scalar>) -> Option<f64> {
        let share = match value.get_ref() {
            Scalar::Text(text) => units::parse_share(text),
            Scalar::Float(share) => Ok(*share),
            // 0 and 1 are the only whole numbers near the bounds; all others are out of bounds.
            Scalar::Integer(0) => Ok(0.0),
            Scalar::Integer(_) => Ok(f64::INFINITY),
            Scalar::Bool(b) => Err(format!("`{b}` is not a share such as \"0.5%\" or 0.005")),
        };
        match share {
            Ok(share) if (0.0..1.0).contains(&share) => return Some(share),
            Ok(_) => self.report(
                Problem::new(
                    value.span(),
                    format!("`{key}` must lie between 0 and 1 (100%)"),
                    "out of bounds",
                )
                .help("for example, half a percent is \"0.5%\" or 0.005"),
            ),
            Err(message) => self.report(Problem::new(value.span(), message, "not a share")),
        }
        None
    }

    /// A regular expression for lines of a log.
    pub(super) fn pattern(&mut self, pattern: &Text) -> String {
        let text = pattern.get_ref();
        if let Err(error) = regex_lite::Regex::new(text) {
            let message = format!("`{text}` is not a regular expression: {error}");
            self.report(Problem::new(pattern.span(), message, "does not parse"));
        }
        text.clone()
    }

    /// Cores to be pinned to.
    pub(super) fn cpus(
        &mut self,
        given: Option<&crate::wire::Spanned<Vec<i64>>>,
    ) -> Option<Vec<u32>> {
        /// The kernel's own bound (`CONFIG_NR_CPUS`) on large machines.
        const MAX_CPUS: u32 = 8192;
        let list = given?;
        let mut cpus = Vec::new();
        for &number in list.get_ref() {
            match u32::try_from(number) {
                Ok(cpu) if cpu < MAX_CPUS && !cpus.contains(&cpu) => cpus.push(cpu),
                Ok(cpu) if cpus.contains(&cpu) => {
                    self.report(Problem::new(
                        list.span(),
                        format!("core {cpu} is listed twice"),
                        "here",
                    ));
                }
                _ => self.report(
                    Problem::new(list.span(), format!("there is no core {number}"), "here")
                        .help("cores are numbered from 0; `lscpu --extended` lists them"),
                ),
            }
        }
        if list.get_ref().is_empty() {
            let problem = Problem::new(list.span(), "an empty list of cores", "no core to run on");
            self.report(problem.help("leave `cpus` out to use all cores"));
        }
        Some(cpus)
    }
}

/// Why a name can't be a service's or a factor's, if so.
pub(super) fn reserved(name: &str) -> Option<String> {
    RESERVED_PLACEHOLDERS.contains(&name).then(|| {
        let list = RESERVED_PLACEHOLDERS.map(|r| format!("`{r}`")).join(", ");
        format!("reserved placeholders: {list}")
    })
}
