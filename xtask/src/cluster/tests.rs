//! A cluster on this machine, and Windage on one of its nodes.

// clippy.toml allows it in functions marked `#[test]`, but not in what they share.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use super::*;
use crate::guide;
use crate::image::Image;
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

/// An image of the Windage that is tested, with the libraries that it is linked with.
fn image_of_windage(folder: &Path) -> PathBuf {
    let program = folder.join("windage");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&program);
    command::run(strip.arg(workspace::built_with_tests().unwrap())).unwrap();
    let linked = command::output(Command::new("ldd").arg(&program)).unwrap();
    let paths = linked
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    let libraries: Vec<(String, Vec<u8>)> = paths
        .map(|path| {
            (
                path.trim_start_matches('/').to_owned(),
                fs::read(path).unwrap(),
            )
        })
        .collect();
    let image = Image {
        name: "windage",
        tag: env!("CARGO_PKG_VERSION"),
        program: &fs::read(&program).unwrap(),
        libraries: &libraries,
        notices: None,
        made: 0,
    };
    let file = folder.join("windage.tar");
    fs::write(&file, image.archive().unwrap()).unwrap();
    file
}

/// Looks whether a run has measured what a tracer costs, and whether all traces arrived.
fn has_measured(run: &Path) {
    let analysis = fs::read(run.join("analysis.json")).unwrap();
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
    has_measured(&measured);
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

    up.0.load(&image_of_windage(folder.path())).unwrap();
    let away = folder.path().join("away");
    fs::create_dir(&away).unwrap();
    fs::copy(experiment.join("app.yaml"), away.join("app.yaml")).unwrap();
    let text = fs::read_to_string(&plan).unwrap();
    let node = "node = \"node1\"";
    let tag = env!("CARGO_PKG_VERSION");
    let image = format!("{node}\nimage = \"localhost/windage:{tag}\"");
    assert!(text.contains(node));
    let plan = away.join("plan.toml");
    fs::write(&plan, text.replace(node, &image)).unwrap();
    let kinds = "jobs,pods,configmaps,serviceaccounts,roles,rolebindings";
    let left = || {
        let of_windage = "--selector=app.kubernetes.io/managed-by=windage";
        up.kubectl(&format!("get {kinds} {of_windage} --output=name"))
    };
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let kubeconfig = up.0.kubeconfig();
    let variables = [("KUBECONFIG", kubeconfig.as_os_str())];
    let windage = workspace::built_with_tests().unwrap();
    let run = guide::follow("kubernetes.md", &empty, &windage, &variables).unwrap();
    has_measured(&run);
    assert_eq!(left(), "");

    let brief = ["--for", "6s", "--rounds", "2"];
    // The run goes on without its client, and is fetched by the next that asks for it.
    let run = away.join("fetched");
    let mut windage = up.windage(&plan, &run, &brief).spawn().unwrap();
    until(|| pods() == 4);
    windage.kill().unwrap();
    windage.wait().unwrap();
    let (code, said) = up.run(&plan, &run, &brief);
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    has_measured(&run);
    assert_eq!(left(), "");

    let refused = away.join("refused.toml");
    fs::write(
        &refused,
        text.replace(node, &image.replace(tag, "never-built")),
    )
    .unwrap();
    let (code, said) = up.run(&refused, &away.join("none"), &brief);
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("ImagePull") || said.contains("ErrImage"),
        "{said}"
    );
    assert_eq!(left(), "");

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
