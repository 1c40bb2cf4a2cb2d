//! A cluster on this machine, and Windage on one of its nodes.

// clippy.toml allows it in functions marked `#[test]`, but not in what they share.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use super::*;
use crate::skip::skip;

/// The cluster, which is taken down with the test.
struct Up(Cluster);

impl Drop for Up {
    fn drop(&mut self) {
        self.0.down().unwrap();
    }
}

impl Up {
    /// What `kubectl` prints.
    fn kubectl(&self, line: &str) -> String {
        let mut kubectl = Programs::provide().unwrap().command("kubectl");
        kubectl.env("KUBECONFIG", self.0.kubeconfig());
        command::output(kubectl.args(line.split(' '))).unwrap()
    }

    /// Windage's exit code and what it prints.
    fn run(&self, plan: &Path, out: &Path, more: &[&str]) -> (Option<i32>, String) {
        let ended = self.windage(plan, out, more).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code(), said)
    }

    fn windage(&self, plan: &Path, out: &Path, more: &[&str]) -> Command {
        let mut windage = Command::new(workspace::built_with_tests().unwrap());
        windage
            .args(["run", "--quiet", "--out"])
            .arg(out)
            .args(more);
        windage.arg(plan).env("KUBECONFIG", self.0.kubeconfig());
        windage
    }
}

/// Waits, but not for ever.
fn until(is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(60));
        thread::sleep(POLL);
    }
}

/// One test, because a machine has one cluster at a time.
#[test]
fn pods_are_measured_and_nothing_of_them_stays() {
    let is_built = Programs::are_built().unwrap();
    let why = lacking()
        .or((!is_built).then_some("Kubernetes is not built; `cargo xtask cluster up` builds it"))
        .or(network::exists().then_some("a cluster is up, for somebody else"));
    if let Some(why) = why {
        return skip("cluster::pods_are_measured_and_nothing_of_them_stays", why);
    }
    let cluster = Cluster::in_folder(workspace::root().join("target/cluster"));
    cluster.up(2).unwrap();
    let up = Up(cluster);
    let folder = tempfile::tempdir().unwrap();

    let experiment = workspace::root().join("experiments/kubernetes");
    let plan = experiment.join("plan.toml");
    for (kubeconfig, code) in [(up.0.kubeconfig(), 0), ("/nowhere".into(), 5)] {
        let mut doctor = Command::new(workspace::built_with_tests().unwrap());
        doctor
            .arg("doctor")
            .arg(&plan)
            .env("KUBECONFIG", kubeconfig);
        let ended = doctor.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert_eq!(
            said.contains("missing: can't find the cluster"),
            code != 0,
            "{said}"
        );
    }
    let measured = folder.path().join("measured");
    let (code, said) = up.run(&plan, &measured, &["--for", "6s", "--rounds", "2"]);
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    let analysis = fs::read(measured.join("analysis.json")).unwrap();
    let analysis: Value = serde_json::from_slice(&analysis).unwrap();
    let arms = analysis["arms"].as_array().unwrap();
    let otel = arms.iter().find(|arm| arm["id"] == "otel").unwrap();
    let arrived = &otel["fidelity"];
    assert!(
        arrived["expected"].as_f64().unwrap() > 1000.0,
        "{arrived:#}"
    );
    assert_eq!(arrived["lost"], 0.0, "{arrived:#}");
    let cpu_us = |arm: &Value| arm["metrics"]["cpu_per_request"]["arm"].as_f64().unwrap();
    let off = arms.iter().find(|arm| arm["id"] == "off").unwrap();
    let (off, otel) = (cpu_us(off), cpu_us(otel));
    // Of a request that takes 100 us or so, a tracer takes a third or so; a foreign or empty group neither.
    assert!(
        (20.0..2_000.0).contains(&off) && otel > 1.05 * off,
        "{off} and {otel} us per request"
    );
    assert_eq!(
        up.kubectl("get pods --output=name"),
        "",
        "pods of a run end with it"
    );

    let manifest = fs::read_to_string(experiment.join("app.yaml")).unwrap();
    let manifest = manifest.replace("go-http:lab", "go-http:never-built");
    fs::write(folder.path().join("app.yaml"), manifest).unwrap();
    let without_image = folder.path().join("plan.toml");
    fs::copy(&plan, &without_image).unwrap();
    let (code, said) = up.run(&without_image, &folder.path().join("failed"), &[]);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("container app: ErrImageNeverPull"), "{said}");
    assert_eq!(up.kubectl("get pods --output=name"), "");

    let killed = folder.path().join("killed");
    let mut windage = up
        .windage(&plan, &killed, &["--for", "60s"])
        .spawn()
        .unwrap();
    let pods = || up.kubectl("get pods --output=name").lines().count();
    until(|| pods() == 3);
    windage.kill().unwrap();
    windage.wait().unwrap();
    until(|| pods() == 0);

    drop(up);
    assert!(!network::exists() && network::nodes().unwrap().is_empty());
    let devices = fs::read_dir("/sys/class/net").unwrap();
    let devices = devices.map(|of| of.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = devices
        .filter(|name| name.starts_with("windage-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("windage-node"), "{mounts}");
}
