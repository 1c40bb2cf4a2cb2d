//! Node and Java services under the agents that people load into them, shortened, and errors of
//! their builds.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use windage_analysis::wire::{AnalysisWire, ArmWire};

use crate::measurements::{arm, counted, delivers_its_share, fidelity, relative_cpu, replaced};
use crate::workshop::{Ended, Workshop};
use crate::{alone, experiment};

/// Requests that may be traced but not counted: those in flight when load ends, on each of the
/// plan's connections, and readiness checks that were answered too late.
const UNCOUNTED: u64 = 16 + 3;
/// Standard deviations of sampling within which the share of traces must be.
const BY_CHANCE: f64 = 4.0;

/// An experiment, with the folder of its subject and replacements in its plan.
struct Agent {
    plan: &'static str,
    subject: &'static str,
    /// Files of the subject, without those that a build makes.
    sources: &'static [&'static str],
    shortened: &'static [(&'static str, &'static str)],
    spans_per_request: u64,
    /// The number of spans per instrumentation scope.
    scopes: &'static [(&'static str, u64)],
    versions: [&'static str; 3],
}

const NODE: Agent = Agent {
    plan: "node-express",
    subject: "node-express",
    sources: &["build.sh", "package.json", "package-lock.json"],
    shortened: &[("warmup   = \"2s\"", "warmup = \"1s\"")],
    spans_per_request: 8,
    scopes: &[
        ("@opentelemetry/instrumentation-express", 3),
        ("@opentelemetry/instrumentation-http", 1),
        ("@opentelemetry/instrumentation-router", 4),
    ],
    versions: ["node", "express", "auto-instrumentations"],
};

/// A cold JVM reaches a fifth of the rate. This test is about what arrives and not about speed, and
/// with the first compiler alone the JVM starts in half the time.
const JAVA: Agent = Agent {
    plan: "java-agent",
    subject: "java-web",
    sources: &["build.sh", "pom.xml", "agent.sha256", "src"],
    shortened: &[
        ("warmup   = \"3s\"", "warmup = \"1s\""),
        ("\"1000/s\"", "\"200/s\""),
        (
            "\"-XX:+UseSerialGC\"",
            "\"-XX:+UseSerialGC\", \"-XX:TieredStopAtLevel=1\"",
        ),
        ("cpus    = [0]", ""),
        // Launches take longer than everything else, so there are fewer arms.
        ("[1.0, 0.1, 0.0]", "[1.0, 0.1]"),
    ],
    spans_per_request: 4,
    scopes: &[
        ("io.opentelemetry.jdbc", 3),
        ("io.opentelemetry.jetty-12.0", 1),
    ],
    versions: ["java", "javalin", "javaagent"],
};

impl Agent {
    fn subject(&self) -> PathBuf {
        experiment("../subjects").join(self.subject)
    }

    /// The plan without profiles, with another folder for the subject and replacements.
    fn changed_plan(&self, subject: &Path, changes: &[(&str, &str)]) -> String {
        let plan = fs::read_to_string(experiment(self.plan).join("plan.toml")).unwrap();
        let (kept, _) = plan.split_once("[profile]").unwrap();
        let named = format!("../../subjects/{}", self.subject);
        let subject = subject.display().to_string();
        let plan = kept.replace("{plan}/", "").replace(&named, &subject);
        replaced(&plan, changes)
    }

    fn measured(&self) -> AnalysisWire {
        let _alone = alone();
        let shop = Workshop::new();
        let subject = self.subject().canonicalize().unwrap();
        shop.write("plan.toml", &self.changed_plan(&subject, self.shortened));
        let args = [
            "run",
            "plan.toml",
            "--for",
            "24s",
            "--rounds",
            "1",
            "--json",
        ];
        let to = ["--out", &shop.run];
        shop.windage(&[&args[..], &to].concat()).code(0).analysis()
    }

    /// Runs the plan although the subject was never built, with these environment variables, in
    /// which `{empty}` stands for an empty folder.
    fn built_anew(&self, env: &[(&str, &str)]) -> Ended {
        let shop = Workshop::new();
        let subject = shop.dir().join(self.subject);
        for name in self.sources {
            copy(&self.subject().join(name), &subject.join(name));
        }
        shop.write("plan.toml", &self.changed_plan(&subject, &[]));
        let empty = shop.dir().join("empty").display().to_string();
        let env: Vec<_> = env
            .iter()
            .map(|(name, value)| (*name, value.replace("{empty}", &empty)))
            .collect();
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, &**value)).collect();
        let args = ["run", "plan.toml", "--for", "1s", "--rounds", "1", "--out"];
        shop.start(&[&args[..], &[&shop.run]].concat(), &env).end()
    }

    fn pays_for_what_it_delivers(&self) {
        let analysis = self.measured();
        let [loaded, all, some] = [
            "loaded-exporter-none",
            "otel-sampling-1.0",
            "otel-sampling-0.1",
        ]
        .map(|id| arm(&analysis, id));
        assert!(
            relative_cpu(all) > 0.0,
            "{:?}",
            all.metrics["cpu_per_request"]
        );
        self.delivers_whole_traces(all);
        delivers_its_share(some, BY_CHANCE, UNCOUNTED as f64);
        let unsampled = analysis.arm("otel-sampling-0.0");
        for silent in unsampled.into_iter().chain([loaded]) {
            assert_eq!(counted(silent, "spans"), 0, "{silent:?}");
        }
        for name in self.versions {
            let version = all.versions.get(name);
            let is_known =
                version.is_some_and(|text| text.contains('.') && !text.starts_with("unknown"));
            assert!(is_known, "{name}: {version:?}");
        }
    }

    fn delivers_whole_traces(&self, arm: &ArmWire) {
        let fidelity = fidelity(arm);
        let [requests, traces] =
            ["completed_requests", "root_spans"].map(|name| counted(arm, name));
        assert!(requests > 100, "{fidelity:?}");
        assert!(traces >= requests, "traces are missing: {fidelity:?}");
        assert!(traces <= requests + UNCOUNTED, "{fidelity:?}");
        // A request that is cut off in flight may have produced only some of its spans.
        let spans = [requests, traces].map(|count| count * self.spans_per_request);
        let [fewest, most] = spans;
        assert!(
            (fewest..=most).contains(&counted(arm, "spans")),
            "{fidelity:?}"
        );
        let sources = fidelity.by_source.iter();
        let mut found: Vec<_> = sources
            .map(|of| (of.scope.as_str(), of.spans / requests))
            .collect();
        found.sort_unstable();
        assert_eq!(found, self.scopes, "{fidelity:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        copy(&path, &to.join(path.file_name().unwrap()));
    }
}

/// V8's maps for perf, which have their processes' numbers in their names and would stay behind.
fn maps_for_perf() -> Vec<OsString> {
    let files = fs::read_dir("/tmp").unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    names.retain(|name| name.to_string_lossy().starts_with("perf-"));
    names.sort_unstable();
    names
}

#[test]
fn a_node_service_pays_for_what_it_delivers() {
    let before = maps_for_perf();
    NODE.pays_for_what_it_delivers();
    assert_eq!(maps_for_perf(), before);
}

#[test]
fn a_java_service_pays_for_what_it_delivers() {
    JAVA.pays_for_what_it_delivers();
}

#[test]
fn unreachable_packages_are_reported_with_the_remedy() {
    let env = [
        ("npm_config_registry", "http://127.0.0.1:9/"),
        ("npm_config_cache", "{empty}"),
        ("npm_config_fetch_retries", "0"),
    ];
    NODE.built_anew(&env)
        .code(5)
        .says(&["subjects/node-express: npm could not", "npm registry"]);
    let nowhere = "-Dmaven.repo.local={empty} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9";
    JAVA.built_anew(&[("MAVEN_OPTS", nowhere)])
        .code(5)
        .says(&["subjects/java-web: Maven could not", "Maven Central"]);
}
