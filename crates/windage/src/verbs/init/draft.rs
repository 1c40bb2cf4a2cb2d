//! The text of the plan, and which flag each line came from.

use std::ops::Range;
use std::path::Path;

use toml::{Table, Value};

use super::error::InitError;
use super::template::ConfigFile;
use super::values::Attachment;
use crate::flags::InitFlags;

/// The name of the only service.
const SERVICE: &str = "app";

/// A plan's text before it is checked.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) text: String,
    /// The file of `--file`.
    pub(super) config: Option<ConfigFile>,
    /// Which byte ranges came from which flag.
    origins: Vec<(Range<usize>, &'static str)>,
}

impl Draft {
    /// Writes a plan for a machine with this many cores.
    ///
    /// # Errors
    ///
    /// If `--command` can't be split into words, or `--attach` lacks an address.
    pub(super) fn new(flags: &InitFlags, cores: usize) -> Result<Draft, InitError> {
        let words = flags.command.as_deref().map(words).transpose()?;
        let url = url(flags)?;
        let pinning = Pinning::choose(flags, cores);
        let mut draft = Draft {
            text: String::new(),
            config: ConfigFile::of(flags)?,
            origins: Vec::new(),
        };
        draft.head(flags, words.as_deref());
        match (&words, &flags.attach) {
            (_, Some(attachment)) => draft.attached(attachment, &url),
            (words, None) => {
                let words = words.as_deref().unwrap_or_default();
                draft.launched(words, &pinning.service);
            }
        }
        draft.load(flags, &url, &pinning.load);
        draft.arms(flags);
        draft.design(flags);
        Ok(draft)
    }

    /// The flag that the text at this byte came from.
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
             # docs/FORMAT.md explains every key; keys that are left out have defaults.\n\n\
             # The run's name: letters, digits, `-`, `_` and `.`.",
        );
        let about = format!("What telemetry costs {name}");
        self.entry("name", name, "--name");
        self.lines("# A sentence for the report.");
        self.entry("about", about, "--name");
        self.lines(
            "\n# Commands that run before anything is launched, by `sh -c` in this folder.\n\
             # [build]\n\
             # commands = [\"make\"]\n",
        );
    }

    fn launched(&mut self, words: &[String], cpus: &[u32]) {
        self.lines(
            "# The service that is measured. Every arm has its own processes, which are launched\n\
             # afresh in every round.\n\
             [[service]]\n\
             # The name is also a placeholder: {app} stands for the service's ADDRESS:PORT.",
        );
        self.entry("name", SERVICE, "--command");
        self.lines(
            "# Program and arguments, without a shell. {listen} stands for the service's ADDRESS:PORT,\n\
             # {port} for the port alone; there are also {dir}, {plan} and {arm}.",
        );
        self.entry("command", words.to_vec(), "--command");
        let has_address = |word: &String| word.contains("{listen}") || word.contains("{port}");
        if let Some(config) = &self.config {
            let file = [("template", &config.template), ("to", &config.name)];
            let file = file.map(|(key, value)| (key.to_owned(), Value::from(value.as_str())));
            self.lines(
                "# Rendered for each arm before each launch: {listen} in it is the service's\n\
                 # ADDRESS:PORT, {setting} the level of the arm's factor.",
            );
            self.entry("files", vec![Table::from_iter(file)], "--file");
        } else if words.iter().any(has_address) {
            self.lines("# Added to the environment in every arm.\n# env = { GOMAXPROCS = \"1\" }");
        } else {
            self.lines(
                "# Added to the environment in every arm. The command doesn't say where to listen:\n\
                 # many services read PORT; if this one doesn't, put {listen} into the command.",
            );
            let env = Table::from_iter([("PORT".to_owned(), Value::from("{port}"))]);
            self.entry("env", env, "--command");
        }
        self.lines("# The cores that it may use; all by default.");
        self.cpus(cpus, "--cpus");
        self.lines(
            "# The service is ready when this answers with a status below 500; also: tcp, log or delay.\n\
             # Default: as soon as it accepts TCP connections.\n\
             # ready = { http = \"/healthz\", within = \"30s\" }\n",
        );
    }

    fn attached(&mut self, attachment: &Attachment, url: &str) {
        self.lines(
            "# The service that is measured. It runs already; Windage neither starts nor stops it.\n\
             [[service]]\n\
             # The name is also a placeholder: {app} stands for the service's ADDRESS:PORT.",
        );
        self.entry("name", SERVICE, "--attach");
        let (key, value) = match attachment {
            Attachment::Pid(pid) => {
                self.lines(
                    "# How to find it; also: unit = \"nginx.service\", cgroup = \"/sys/fs/cgroup/…\", or\n\
                     # url = \"http://127.0.0.1:8080\", without CPU and memory figures.",
                );
                ("pid", Value::from(*pid))
            }
            Attachment::Url(url) => {
                self.lines(
                    "# How to find it. A URL gives no CPU and memory figures; better: pid = 4711,\n\
                     # unit = \"nginx.service\" or cgroup = \"/sys/fs/cgroup/…\", with `listen`.",
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
            "# The load: one request, repeated. Only loopback is allowed unless `allow` names other hosts.\n\
             [load]\n\
             # closed: each connection waits for its answer before the next request, so the service\n\
             # sets the pace. open: requests start by a schedule, whether answers come or not, and\n\
             # response time counts from the intended start.",
        );
        match &flags.rate {
            None => self.lines("model = \"closed\"\n# With model = \"open\":\n# rate = \"2000/s\""),
            Some(rate) => {
                self.lines("model = \"open\"\n# Intended starts per second.");
                self.entry("rate", rate.as_str(), "--rate");
            }
        }
        self.lines("# Connections per arm, kept open.");
        match flags.connections {
            Some(connections) => self.entry("connections", connections, "--connections"),
            None => self.lines("# connections = 8"),
        }
        self.lines("# Method and URL; `headers` and `body` are keys of their own.");
        self.entry("request", format!("{} {url}", flags.method), "--url");
        self.lines("# The generator's cores, other than the service's; all by default.");
        self.cpus(cpus, "--load-cpus");
        self.lines("");
    }

    fn arms(&mut self, flags: &InitFlags) {
        self.lines(
            "# The arms to compare. The baseline is the service without telemetry. Windage adds a\n\
             # second one, the control; its true difference is zero.\n\
             [[arm]]\n\
             name = \"off\"\n\
             baseline = true",
        );
        if flags.config.is_some() {
            self.setting("off");
        }
        if flags.attach.is_some() {
            self.lines(
                "# Runs by `sh -c` before the arm gets load, to bring the service into the arm's state,\n\
                 # whichever arm came before. Put your own command here, such as a call of an admin API.\n\
                 switch = [\"echo edit the plan: switch telemetry off here; exit 1\"]",
            );
        }
        self.lines("\n[[arm]]\nname = \"telemetry\"");
        if flags.config.is_some() {
            self.setting("on");
        }
        self.sweep(flags);
        if flags.otlp {
            let traces = match flags.sweep.first().filter(|sweep| sweep.is_numeric()) {
                Some(sweep) => format!("\"{{{}}}\"", sweep.factor),
                None => "1".to_owned(),
            };
            self.lines(&format!(
                "# What should arrive per request, to detect lost telemetry; also: spans_per_request.\n\
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

    /// The level that `{setting}` stands for in the arm's configuration.
    fn setting(&mut self, level: &str) {
        self.entry_at(&["sweep", "setting"], vec![level], "--file");
    }

    fn sweep(&mut self, flags: &InitFlags) {
        if flags.sweep.is_empty() && flags.config.is_some() {
            return;
        }
        if flags.sweep.is_empty() {
            self.lines(
                "# One arm per level; {sampling} stands for the level, for example in `env`.\n\
                 # sweep = { sampling = [1.0, 0.1, 0.0] }",
            );
            return;
        }
        self.lines(
            "# One arm per combination of levels; a factor's name in braces stands for its level.",
        );
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
            self.lines("# Windage's own receiver counts what arrives, here over OTLP/HTTP.");
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

    fn design(&mut self, flags: &InitFlags) {
        self.lines("# How it is measured.");
        if flags.attach.is_none() {
            self.lines(
                "# CPU is measured while arms take turns of about 10 ms (`turn`, `block`); a third of the\n\
                 # time (`isolated`) goes to windows with load on one arm alone, for all other metrics.",
            );
        }
        self.lines(
            "[design]\n\
             # How long one arm is measured alone; arms alternate in random order. Use longer windows\n\
             # if a request takes more than a few milliseconds.\n\
             window = \"100ms\"\n\
             # How often all processes are launched afresh: launches differ by chance, and a verdict\n\
             # needs 13 or more.\n\
             rounds = 14\n\
             # Total measuring time; more of it narrows the intervals.\n\
             for = \"60s\"\n\
             # A difference below this does not matter to you; its verdict is `negligible`.\n\
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

    /// Writes `key = value` on its own line and records the flag it came from.
    fn entry_at(&mut self, path: &[&str], value: impl Into<Value>, flag: &'static str) {
        let start = self.text.len();
        let path: Vec<String> = path.iter().map(|key| quoted(key)).collect();
        self.lines(&format!("{} = {}", path.join("."), value.into()));
        self.origins.push((start..self.text.len(), flag));
    }
}

/// A key in TOML syntax.
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
        wrong("a quote is not closed, or the last character is a backslash; quote words as in a shell")
    })?;
    if words.is_empty() {
        return Err(wrong(
            "names no program; give one, such as 'bin/app -listen {listen}'",
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
                "where does process {pid} listen? add --url, such as http://127.0.0.1:8080/"
            ),
        }),
        (None, _) => Ok(format!("http://{{{SERVICE}}}/")),
    }
}

/// The ADDRESS:PORT in a URL, if it is numeric.
fn listen_of(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?']).next()?;
    let address: std::net::SocketAddr = authority.parse().ok()?;
    Some(address.to_string())
}

/// The program's name, without characters that a plan's name can't have.
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

/// The cores of service and generator; empty means all.
struct Pinning {
    service: Vec<u32>,
    load: Vec<u32>,
}

impl Pinning {
    /// Separates the two as far as the flags and the number of cores allow.
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
