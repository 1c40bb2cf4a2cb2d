//! Resolves the parsed file into a plan. Checks every rule of `docs/FORMAT.md` and reports all
//! problems at once.
//!
//! Each step returns a value even after a problem, so that the next step can run. The values are
//! discarded if there was any problem.

mod agent;
mod agent_stretches;
mod arm;
mod attach;
mod backend;
mod design;
mod drops;
mod expected;
mod file;
mod implied;
mod instance;
mod load;
mod ports;
mod profile;
mod scope;
mod service;
mod sink;
mod stages;
mod stop;
mod sweep;
mod switch;
mod thorough;

use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use crate::plan::{Build, Depth, Plan};
use crate::problem::choices;
use crate::wire::{PlanFile, Text};
use crate::{Problem, RESERVED_PLACEHOLDERS, Template, defaults, units};

use scope::{Site, Use};

/// A day: the longest wait that a plan may ask for.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest wait where zero makes no sense.
const INSTANT: Duration = Duration::from_micros(1);
/// Bounds of a duration that must be above zero.
const PATIENCE: RangeInclusive<Duration> = INSTANT..=DAY;
const HOUR: Duration = Duration::from_secs(60 * 60);
/// Bounds of a duration that zero switches off.
const PAUSE: RangeInclusive<Duration> = Duration::ZERO..=HOUR;

/// Resolves the file and checks every rule.
pub(crate) fn resolve(
    file: &PlanFile,
    text: &str,
    folder: &Path,
    depth: Depth,
) -> Result<Plan, Vec<Problem>> {
    let mut checker = Checker {
        text,
        folder,
        problems: Vec::new(),
        uses: Vec::new(),
    };
    plan_name(&mut checker, &file.name);
    let build = build(&mut checker, file);
    let mut services = service::resolve_all(&mut checker, file);
    let before = checker.problems.len();
    let ground = stop::Ground {
        model: load::model(file),
        services: &services,
    };
    let designs = thorough::resolve(&mut checker, &file.design, &ground);
    let design = designs.of(depth).clone();
    // Without a valid window, what must fit it is not checked.
    let is_known = checker.problems.len() == before;
    let window = is_known.then_some(design.window);
    let mut load = load::resolve(&mut checker, file, &services, window);
    let other_loads = load::regimes(&mut checker, file, &mut load, &designs, depth);
    drops::resolve_all(&mut checker, file, &mut services, load::model(file));
    ports::refuse_of_a_batch(&mut checker, file, load::model(file));
    let mut arms = arm::resolve_all(&mut checker, file, &services);
    stages::settle(&mut checker, file, &mut arms);
    agent::settle_bystanders(&mut checker, file, &mut arms, &services);
    agent::check(&mut checker, file, &services);
    let profile = profile::resolve(&mut checker, file);
    // With a misspelt placeholder, it is unknown whether a receiver was meant.
    let receives = scope::check(&mut checker, file, &arms, &mut services)
        .then(|| backend::settle(&mut checker, file, &mut arms, &services));
    let sink = sink::resolve(&mut checker, file, receives);
    instance::settle(&checker, &mut arms, &services);
    instance::check(&mut checker, file, &arms, &services, &load);
    if !checker.problems.is_empty() {
        return Err(checker.problems);
    }
    let (services, agents) = agent::apart(services);
    Ok(Plan {
        name: file.name.get_ref().clone(),
        about: file.about.clone(),
        folder: folder.to_owned(),
        source: text.to_owned(),
        build,
        services,
        agents,
        load,
        other_loads,
        sink,
        arms: arm::with_control(arms),
        design,
        profile,
    })
}

/// Collects problems, and the templates whose placeholders are checked at the end.
struct Checker<'a> {
    text: &'a str,
    folder: &'a Path,
    problems: Vec<Problem>,
    uses: Vec<Use>,
}

impl Checker<'_> {
    fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reads a template and keeps it for the check of its placeholders.
    fn template(&mut self, text: &Text, site: Site) -> Template {
        self.no_nul(text);
        self.placeholders_of(text.get_ref(), text.span(), site)
    }

    /// The same for text that is part of the value at `span`.
    fn placeholders_of(&mut self, text: &str, span: Range<usize>, site: Site) -> Template {
        let template = Template::parse(text);
        self.uses.push(Use {
            template: template.clone(),
            span,
            site,
            file: None,
        });
        template
    }

    fn templates(&mut self, texts: &[Text], site: &Site) -> Vec<Template> {
        texts
            .iter()
            .map(|text| self.template(text, site.clone()))
            .collect()
    }

    /// No argument, environment value or path can hold a NUL byte.
    fn no_nul(&mut self, text: &Text) {
        if text.get_ref().contains('\0') {
            let message = "text with a NUL byte can't be passed to a program";
            self.report(Problem::new(text.span(), message, "remove `\\u0000`"));
        }
    }

    /// A command must name a program.
    fn words(&mut self, words: &[Text], span: Range<usize>) {
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
    fn duration(
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

    /// A whole number within bounds, or the default.
    fn integer<N: TryFrom<i64> + Copy>(
        &mut self,
        key: &str,
        given: Option<&toml::Spanned<i64>>,
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
    fn word<W: Copy>(
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

    /// Cores to be pinned to.
    fn cpus(&mut self, given: Option<&toml::Spanned<Vec<i64>>>) -> Option<Vec<u32>> {
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
fn reserved(name: &str) -> Option<String> {
    RESERVED_PLACEHOLDERS.contains(&name).then(|| {
        let list = RESERVED_PLACEHOLDERS.map(|r| format!("`{r}`")).join(", ");
        format!("reserved placeholders: {list}")
    })
}

fn plan_name(checker: &mut Checker<'_>, name: &Text) {
    const MAX_NAME_BYTES: usize = 100;
    let text = name.get_ref();
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    // The name becomes a directory's name, so no leading dot or dash.
    let good = text.len() <= MAX_NAME_BYTES
        && text.bytes().all(alphabet)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !good {
        checker.report(
            Problem::new(
                name.span(),
                format!("`{text}` can't name a plan"),
                "not a plan's name",
            )
            .help("use at most 100 letters, digits, `-`, `_` and `.`, a letter or digit first"),
        );
    }
}

fn build(checker: &mut Checker<'_>, file: &PlanFile) -> Build {
    let versions = &file.build.versions;
    for command in file.build.commands.iter().chain(versions.values()) {
        checker.no_nul(command);
        if command.get_ref().trim().is_empty() {
            checker.report(Problem::new(
                command.span(),
                "an empty build command",
                "nothing to run",
            ));
        }
    }
    let commands = file
        .build
        .commands
        .iter()
        .map(|command| command.get_ref().clone())
        .collect();
    let within = file.build.within.as_ref();
    let within = checker.duration("within", within, defaults::BUILD_WITHIN, PATIENCE);
    let versions = versions
        .iter()
        .map(|(of, command)| (of.clone(), command.get_ref().clone()))
        .collect();
    Build {
        commands,
        within,
        versions,
    }
}
