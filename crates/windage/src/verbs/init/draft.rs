//! The plan's text, with a note of which flag each line came from.

use std::ops::Range;
use std::path::Path;

use toml::{Table, Value};

use super::{Attachment, InitError};
use crate::cli::InitFlags;

/// The only service's name.
const SERVICE: &str = "app";

/// A plan's text before it is checked.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) text: String,
    /// Which bytes came from which flag.
    origins: Vec<(Range<usize>, &'static str)>,
}

impl Draft {
    /// Writes a plan for a machine with so many cores.
    ///
    /// # Errors
    /// When the words of `--command` can't be told apart, or `--attach` lacks an address.
    pub(super) fn new(flags: &InitFlags, cores: usize) -> Result<Draft, InitError> {
        let words = flags.command.as_deref().map(words).transpose()?;
        let url = url(flags)?;
        let pinning = Pinning::choose(flags, cores);
        let mut draft = Draft {
            text: String::new(),
            origins: Vec::new(),
        };
        draft.head(flags, words.as_deref());
        match (&words, &flags.attach) {
            (_, Some(attachment)) => draft.attached(attachment, &url),
            (words, None) => draft.launched(words.as_deref().unwrap_or_default(), &pinning.service),
        }
        draft.load(flags, &url, &pinning.load);
        draft.arms(flags);
        draft.design();
        Ok(draft)
    }

    /// The flag that what stands at this byte came from.
    pub(super) fn flag_at(&self, byte: usize) -> &'static str {
        self.origins
            .iter()
            .find(|(range, _)| range.contains(&byte))
            .map_or("the plan", |(_, flag)| flag)
    }

    fn head(&mut self, flags: &InitFlags, words: Option<&[String]>) {
        let name = flags.name.clone().unwrap_or_else(|| default_name(words));
        self.lines(
            "# A plan for `windage run`: what telemetry costs one service.\n\
             # docs/FORMAT.md explains every key; what is left out has a default there.\n\n\
             # Names the run: letters, digits, `-`, `_` and `.`.",
        );
        let about = format!("What telemetry costs {name}");
        self.entry("name", name, "--name");
        self.lines("# A sentence for the report.");
        self.entry("about", about, "--name");
        self.lines(
            "\n# What is done before anything is launched, each command by `sh -c` in this folder.\n\
             # [build]\n\
             # commands = [\"make\"]\n",
        );
    }

    fn launched(&mut self, words: &[String], cpus: &[u32]) {
        self.lines(
            "# The service that is measured. Each arm gets processes of its own, launched afresh\n\
             # in every round.\n\
             [[service]]\n\
             # Also a placeholder: {app} stands for the service's ADDRESS:PORT.",
        );
        self.entry("name", SERVICE, "--command");
        self.lines(
            "# Program and arguments, no shell. {listen} stands for the ADDRESS:PORT allotted to it,\n\
             # {port} for the port alone; more: {dir}, {plan}, {arm}.",
        );
        self.entry("command", words.to_vec(), "--command");
        let told = |word: &String| word.contains("{listen}") || word.contains("{port}");
        if words.iter().any(told) {
            self.lines("# Added to the environment in every arm.\n# env = { GOMAXPROCS = \"1\" }");
        } else {
            self.lines(
                "# Added to the environment in every arm. The command doesn't say where to listen:\n\
                 # many services read PORT; if this one doesn't, put {listen} into the command.",
            );
            let env = Table::from_iter([("PORT".to_owned(), Value::from("{port}"))]);
            self.entry("env", env, "--command");
        }
        self.lines("# The cores it may use; all when left out.");
        self.cpus(cpus, "--cpus");
        self.lines(
            "# It is up when it answers with a status below 500; also: tcp, log or delay. When left\n\
             # out: as soon as it accepts TCP.\n\
             # ready = { http = \"/healthz\", within = \"30s\" }\n",
        );
    }

    fn attached(&mut self, attachment: &Attachment, url: &str) {
        self.lines(
            "# The service that is measured. It runs already; windage neither starts nor ends it.\n\
             [[service]]\n\
             # Also a placeholder: {app} stands for the service's ADDRESS:PORT.",
        );
        self.entry("name", SERVICE, "--attach");
        let (key, value) = match attachment {
            Attachment::Pid(pid) => {
                self.lines(
                    "# How it is found; also: unit = \"nginx.service\", cgroup = \"/sys/fs/cgroup/…\", or\n\
                     # url = \"http://127.0.0.1:8080\", which leaves its CPU and memory out of reach.",
                );
                ("pid", Value::from(*pid))
            }
            Attachment::Url(url) => {
                self.lines(
                    "# How it is found. By URL its CPU and memory are out of reach; instead: pid = 4711,\n\
                     # unit = \"nginx.service\" or cgroup = \"/sys/fs/cgroup/…\", and `listen` beside it.",
                );
                ("url", Value::from(url.as_str()))
            }
        };
        self.entry(
            "attach",
            Table::from_iter([(key.to_owned(), value)]),
            "--attach",
        );
        if let (Attachment::Pid(_), Some(listen)) = (attachment, listen_of(url)) {
            self.lines("# Where it listens, for {app}.");
            self.entry("listen", listen, "--url");
        }
        self.lines("");
    }

    fn load(&mut self, flags: &InitFlags, url: &str, cpus: &[u32]) {
        self.lines(
            "# The load: one request over and over. It goes to loopback unless `allow` names more.\n\
             [load]\n\
             # closed: the next request waits for an answer, so the service sets the pace.\n\
             # open: starts follow a schedule, whatever the answers do, and response time counts from\n\
             # the intended start.",
        );
        match &flags.rate {
            None => self.lines("model = \"closed\"\n# With model = \"open\":\n# rate = \"2000/s\""),
            Some(rate) => {
                self.lines("model = \"open\"\n# Intended starts per second.");
                self.entry("rate", rate.as_str(), "--rate");
            }
        }
        self.lines("# For each arm, kept warm.");
        match flags.connections {
            Some(connections) => self.entry("connections", connections, "--connections"),
            None => self.lines("# connections = 8"),
        }
        self.lines("# Method and URL; `headers` and `body` may stand beside it.");
        self.entry("request", format!("{} {url}", flags.method), "--url");
        self.lines("# The generator's cores, apart from the service's; all when left out.");
        self.cpus(cpus, "--load-cpus");
        self.lines("");
    }

    fn arms(&mut self, flags: &InitFlags) {
        self.lines(
            "# What is compared. The baseline is the service without telemetry; a second one, the\n\
             # control, is added by itself, and its difference must be zero.\n\
             [[arm]]\n\
             name = \"off\"\n\
             baseline = true",
        );
        if flags.attach.is_some() {
            self.lines(
                "# Run by `sh -c` before the arm gets load: brings the service into this arm's state,\n\
                 # whichever arm was before. Put your own here, such as a call of an admin socket.\n\
                 switch = [\"echo edit the plan: switch telemetry off here; exit 1\"]",
            );
        }
        self.lines("\n[[arm]]\nname = \"telemetry\"");
        self.sweep(flags);
        if flags.otlp {
            let traces = match flags.sweep.first().filter(|sweep| sweep.is_numeric()) {
                Some(sweep) => format!("\"{{{}}}\"", sweep.factor),
                None => "1".to_owned(),
            };
            self.lines(&format!(
                "# What should arrive, so that loss is told from sampling; also: spans_per_request.\n\
                 # expect = {{ traces_per_request = {traces} }}"
            ));
        }
        if flags.attach.is_some() {
            let levels: String = flags
                .sweep
                .iter()
                .map(|sweep| format!(", {} {{{}}}", sweep.factor, sweep.factor))
                .collect();
            let switch = format!("echo edit the plan: switch telemetry on here{levels}; exit 1");
            self.entry("switch", vec![switch], "--sweep");
        } else {
            self.environment(flags);
        }
        self.lines("");
    }

    fn sweep(&mut self, flags: &InitFlags) {
        if flags.sweep.is_empty() {
            self.lines(
                "# One arm for each level; {sampling} stands for it, in `env` for example.\n\
                 # sweep = { sampling = [1.0, 0.1, 0.0] }",
            );
            return;
        }
        self.lines("# One arm for each combination of levels; a factor's name in braces stands for its level.");
        for sweep in &flags.sweep {
            self.entry_at(&["sweep", &sweep.factor], sweep.levels.clone(), "--sweep");
        }
    }

    fn environment(&mut self, flags: &InitFlags) {
        self.lines(
            "# What switches telemetry on; also: args = { app = [\"--trace\"] } adds arguments,\n\
             # command = { app = [\"…\"] } replaces the command.",
        );
        if flags.env.is_empty() && !flags.otlp {
            self.lines("# env = { OTEL_SDK_DISABLED = \"false\" }");
            return;
        }
        for assignment in &flags.env {
            self.entry_at(
                &["env", &assignment.key],
                assignment.value.as_str(),
                "--env",
            );
        }
        let own = |key: &str| !flags.env.iter().any(|assignment| assignment.key == key);
        if flags.otlp {
            self.lines("# Windage's own receiver counts what arrives; it speaks OTLP over HTTP.");
            for (key, value) in [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "{otlp_http}"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ] {
                if own(key) {
                    self.entry_at(&["env", key], value, "--otlp");
                }
            }
        }
    }

    fn design(&mut self) {
        self.lines(
            "# How it is measured.\n\
             [design]\n\
             # How long one arm is measured at a stretch; arms alternate in random order. Lengthen it\n\
             # where a request takes longer than some milliseconds.\n\
             window = \"100ms\"\n\
             # How often all processes are launched afresh: each launch has its own luck.\n\
             rounds = 3\n\
             # Measuring time in all; more of it narrows the intervals.\n\
             for = \"60s\"\n\
             # Differences below it don't matter to you: the verdict is then `negligible`.\n\
             margin = \"0.5%\"",
        );
    }

    fn cpus(&mut self, cpus: &[u32], flag: &'static str) {
        if cpus.is_empty() {
            self.lines("# cpus = [0]");
        } else {
            self.entry("cpus", cpus.to_vec(), flag);
        }
    }

    fn lines(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn entry(&mut self, key: &str, value: impl Into<Value>, flag: &'static str) {
        self.entry_at(&[key], value, flag);
    }

    /// `key = value` on a line of its own, on the account of a flag.
    fn entry_at(&mut self, path: &[&str], value: impl Into<Value>, flag: &'static str) {
        let start = self.text.len();
        let path: Vec<String> = path.iter().map(|key| quoted(key)).collect();
        self.lines(&format!("{} = {}", path.join("."), value.into()));
        self.origins.push((start..self.text.len(), flag));
    }
}

/// A key as it must stand in TOML.
fn quoted(key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(bare) {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}

fn words(command: &str) -> Result<Vec<String>, InitError> {
    let wrong = |message: &str| InitError::Flag {
        flag: "--command",
        message: message.to_owned(),
    };
    let words = shlex::split(command).ok_or_else(|| {
        wrong("a quote is not closed, or a backslash stands at the end; quote words as in a shell")
    })?;
    if words.is_empty() {
        return Err(wrong(
            "names no program; such as 'bin/app -listen {listen}'",
        ));
    }
    Ok(words)
}

fn url(flags: &InitFlags) -> Result<String, InitError> {
    match (&flags.url, &flags.attach) {
        (Some(url), _) => Ok(url.clone()),
        (None, Some(Attachment::Pid(pid))) => Err(InitError::Flag {
            flag: "--attach",
            message: format!(
                "where does process {pid} listen? add --url such as http://127.0.0.1:8080/"
            ),
        }),
        (None, _) => Ok(format!("http://{{{SERVICE}}}/")),
    }
}

/// The ADDRESS:PORT that a URL names, if it names one in figures.
fn listen_of(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?']).next()?;
    let address: std::net::SocketAddr = authority.parse().ok()?;
    Some(address.to_string())
}

/// The program's name as far as a plan's name allows it.
fn default_name(words: Option<&[String]>) -> String {
    let program = words.and_then(|words| Path::new(words.first()?).file_name()?.to_str());
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = program
        .unwrap_or_default()
        .chars()
        .filter(|&c| allowed(c))
        .collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { SERVICE } else { name }.to_owned()
}

/// Which cores service and generator get; empty: all.
struct Pinning {
    service: Vec<u32>,
    load: Vec<u32>,
}

impl Pinning {
    /// Keeps the two apart, as far as the flags leave a choice and the machine has the cores.
    fn choose(flags: &InitFlags, cores: usize) -> Pinning {
        let free = |taken: &[u32]| {
            let cores = u32::try_from(cores).unwrap_or(u32::MAX);
            (0..cores).find(|core| cores > 1 && !taken.contains(core))
        };
        let mut pinning = Pinning {
            service: flags.cpus.clone(),
            load: flags.load_cpus.clone(),
        };
        if pinning.service.is_empty() {
            pinning.service.extend(free(&pinning.load));
        }
        if pinning.load.is_empty() {
            pinning.load.extend(free(&pinning.service));
        }
        pinning
    }
}
