//! The exporters of `subjects/exporters`, and Rust's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::case::{Case, Wire};
use crate::{delivery, program, rust};

#[test]
fn python() {
    let mut cases = Case::otlp(&[Wire::Http, Wire::Grpc, Wire::Json]);
    cases.push(Case::spans(Wire::Zipkin));
    check("python", "WINDAGE_TEST_EXPORTER_PYTHON", &cases, |python| {
        script(python, "exporter.py")
    });
}

#[test]
fn ddtrace() {
    let cases = ["v0.4", "v0.5"].map(|version| Case::spans(Wire::Datadog(version)));
    check(
        "ddtrace",
        "WINDAGE_TEST_EXPORTER_PYTHON",
        &cases,
        |python| script(python, "exporter_datadog.py"),
    );
}

#[test]
fn go() {
    let mut cases = Case::otlp(&[Wire::Http, Wire::Grpc]);
    cases.push(Case::spans(Wire::Zipkin));
    check("go", "WINDAGE_TEST_EXPORTER_GO", &cases, |exporter| {
        program::command(exporter)
    });
}

#[test]
fn node() {
    let mut cases = Case::otlp(&[Wire::Http, Wire::Grpc, Wire::Json]);
    cases.push(Case::spans(Wire::Zipkin));
    check("node", "WINDAGE_TEST_EXPORTER_NODE", &cases, |exporter| {
        let mut command = program::command("node");
        command.arg(exporter);
        command
    });
}

#[test]
fn java() {
    let cases = Case::otlp(&[Wire::Http, Wire::Grpc]);
    check("java", "WINDAGE_TEST_EXPORTER_JAVA", &cases, |jars| {
        let mut command = program::command("java");
        command
            .arg("-classpath")
            .arg(jars.join("*"))
            .arg("dev.windage.exporter.Exporter");
        command
    });
}

#[test]
fn rust() {
    let cases = Case::otlp(&[Wire::Http, Wire::Grpc, Wire::Json]);
    delivery::check(&with_deliveries(&cases), rust::send);
}

/// Runs the program that `variable` names for each case.
fn check(test: &str, variable: &str, cases: &[Case], command: impl Fn(&Path) -> Command) {
    let Some(part) = program::part(test, variable) else {
        return;
    };
    delivery::check(&with_deliveries(cases), |case, endpoint| {
        let mut command = command(&part);
        command.args(case.arguments(endpoint));
        program::run(command)
    });
}

fn with_deliveries(cases: &[Case]) -> Vec<(Case, windage_sink::Counts)> {
    cases.iter().map(|case| (*case, case.delivered())).collect()
}

fn script(python: &Path, name: &str) -> Command {
    let folder: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "../../subjects/exporters/python",
    ]
    .iter()
    .collect();
    let mut command = program::command(python);
    command.arg(folder.join(name));
    command
}
