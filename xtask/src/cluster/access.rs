//! Who may do what in the cluster: tokens, drawn anew each time, and the files by which programs log in.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::network;
use crate::command;

/// Writes what the API server knows of its users, their files, and its key for service accounts.
pub(super) fn write(cluster: &Path, nodes: &[String]) -> Result<()> {
    let control = cluster.join("control");
    let mut tokens = String::new();
    let mut user = |file: &Path, name: &str, group: &str| {
        let token = token()?;
        tokens += &format!("{token},{name},{name},{group}\n");
        secret(file, &kubeconfig(cluster, &token))
    };
    user(&cluster.join("admin.json"), "admin", "system:masters")?;
    user(
        &control.join("controllers.json"),
        "system:kube-controller-manager",
        "",
    )?;
    user(&control.join("scheduler.json"), "system:kube-scheduler", "")?;
    for node in nodes {
        let folder = cluster.join(node);
        user(
            &folder.join("kubelet.json"),
            &format!("system:node:{node}"),
            "system:nodes",
        )?;
        user(&folder.join("proxy.json"), "system:kube-proxy", "")?;
    }
    secret(&control.join("tokens.csv"), &tokens)?;
    let mut key = Command::new("openssl");
    key.args(["genpkey", "-quiet", "-algorithm", "RSA", "-out"]);
    command::run(key.arg(control.join("service-accounts.pem")))
}

/// What nobody guesses.
fn token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("draw a token")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How to reach the API server as the user with this token.
fn kubeconfig(cluster: &Path, token: &str) -> String {
    let server = json!({
        "server": format!("https://{}:6443", network::MACHINE),
        // The API server writes it when it starts.
        "certificate-authority": cluster.join("control/pki/apiserver.crt"),
    });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "lab", "cluster": server }],
        "users": [{ "name": "lab", "user": { "token": token } }],
        "contexts": [{ "name": "lab", "context": { "cluster": "lab", "user": "lab" } }],
        "current-context": "lab",
    })
    .to_string()
}

/// Writes a file that its owner alone may read.
fn secret(file: &Path, content: &str) -> Result<()> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    made.and_then(|mut made| made.write_all(content.as_bytes()))
        .with_context(|| format!("write {}", file.display()))
}
