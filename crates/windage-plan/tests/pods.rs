//! Plans whose services are pods.

mod mistaken;

use std::time::Duration;

use mistaken::{mistakes, read};
use windage_plan::Origin;

const GOOD: &str = include_str!("plans/pods.toml");

mistakes! {
    a_port_that_no_pod_has: "port = 8080" => "port = 0";
    a_manifest_that_is_not_there: "pod.yaml" => "deployment.yaml";
    keys_that_a_manifest_has: "ready = {" => "command = [\"app\"]\nlisten = \"127.0.0.1:80\"\nports = [\"admin\"]\ncwd = \"/\"\nclean_env = true\nuser = \"nobody\"\ncheck = [\"app\"]\ncpus = [0]\nready = {";
    a_signal_for_a_pod: "stop = { within" => "stop = { signal = \"INT\", within";
    a_shared_pod: "ready = {" => "shared = true\nready = {", "http://{app}/" => "http://127.0.0.1/";
    a_process_beside_a_pod: "[load]" => "[[service]]\nname = \"cache\"\ncommand = [\"cache\"]\n\n[load]";
    several_pods_for_an_arm: "[load]" => "[[service]]\nname = \"cache\"\npod = { manifest = \"pod.yaml\", port = 6379 }\n\n[load]";
    a_secret_for_a_pod: "MODE = \"plain\"" => "TOKEN = \"$TOKEN\"";
    an_arms_secret_for_a_pod: "args = { app" => "env = { TOKEN = \"$TOKEN\" }\nargs = { app";
    a_patch_of_no_pod: "patch = { app" => "patch = { web";
    a_patch_that_is_not_there: "sidecar.yaml" => "mesh.yaml";
    a_cluster_without_pods: "pod = { manifest = \"pod.yaml\", port = 8080, container = \"web\" }" => "command = [\"app\", \"{listen}\"]", "patch = { app = \"sidecar.yaml\" }\n" => "";
    an_agent_that_is_a_pod: "[load]" => "[[agent]]\nname = \"watcher\"\npod = { manifest = \"pod.yaml\", port = 1 }\n\n[load]", "args = { app" => "agents = [\"watcher\"]\nargs = { app";
    a_process_that_runs_already_beside_a_pod: "[load]" => "[[service]]\nname = \"cache\"\nattach = { pid = 4711 }\n\n[load]";
    an_address_that_a_pod_does_not_know: "MODE = \"plain\"" => "MODE = \"{listen}\"", "[\"--mesh\"]" => "[\"--mesh={app.port}\"]";
    metrics_of_a_pod: "ready = {" => "metrics = \"/metrics\"\nready = {", "patch = {" => "scrape = { app = \"15s\" }\npatch = {";
    a_switch_of_a_pod: "patch = {" => "switch = [{ http = \"POST http://{app}/on\" }]\npatch = {";
    arms_that_share_a_pod_with_another_patch: "name = \"mesh\"" => "name = \"mesh\"\ninstance = \"one\"", "baseline = true" => "baseline = true\ninstance = \"one\"";
    a_profile_of_a_pod: "[load]" => "[profile]\nwith = \"perf\"\n\n[load]";
    a_secret_for_no_image: "image = \"registry.example/windage@sha256:5eed\"\n" => "";
    files_that_are_not_sent: "request = \"GET" => "body_file = \"body.bin\"\nrequest = \"POST", "[load]" => "[build]\ncommands = [\"make\"]\n\n[load]";
    a_socket_of_a_pod: "model = \"closed\"" => "model = \"closed\"\nunix = \"/tmp/app.sock\"";
}

#[test]
fn a_pod_has_its_manifest_and_its_arms_their_patches() {
    let plan = read(GOOD).unwrap();
    let app = &plan.services[0];
    let pod = app.pod.as_ref().unwrap();
    assert_eq!((pod.port, pod.container.as_deref()), (8080, Some("web")));
    assert_eq!(pod.manifest.text, "kind: Deployment\n");
    assert_eq!(
        app.origin,
        Origin::Command(Vec::new()),
        "launched, but by no command"
    );
    assert_eq!(app.stop.within, Duration::from_secs(20));
    assert_eq!(plan.cluster.node.as_deref(), Some("worker-3"));
    assert_eq!(plan.cluster.pull_secret.as_deref(), Some("registry"));
    let patch = |arm: usize| {
        plan.arms[arm]
            .patch
            .values()
            .map(|file| file.path.clone())
            .collect::<Vec<_>>()
    };
    assert!(patch(0).is_empty() && patch(1).is_empty());
    assert_eq!(patch(2), [std::path::PathBuf::from("sidecar.yaml")]);
}
