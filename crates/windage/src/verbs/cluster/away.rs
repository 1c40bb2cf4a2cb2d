//! Runs that Windage measures in a pod of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use windage_cluster::{Asking, Away};
use windage_lab::{expected_duration, labelled};
use windage_plan::{ClusterPlace, ManifestFile, Plan};
use windage_record::RunDir;

/// What the cluster gives a run beyond twice its planned length: pods start slowly, and a laptop that is to fetch it
/// may sleep overnight.
const BEYOND: Duration = Duration::from_secs(12 * 60 * 60);

/// Measures a plan in the cluster, puts its run directory here, and returns its exit code.
///
/// # Errors
/// In words, when it can't be measured or fetched.
pub(super) fn measure_away(
    plan: &Plan,
    directory: &Path,
    interrupted: &AtomicBool,
    say: &dyn Fn(&str),
) -> Result<u8, String> {
    let in_words = |error: std::io::Error| format!("{}: {error}", directory.display());
    RunDir::check_free(directory).map_err(|error| error.to_string())?;
    let folder = match directory.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(in_words)?;
    let mut fetched = tempfile::Builder::new();
    let fetched = fetched
        .prefix(".fetched-")
        .tempdir_in(folder)
        .map_err(in_words)?;
    let asking = Asking { interrupted, say };
    let measured = windage_cluster::measure_away(&away(plan), fetched.path(), &asking);
    let (code, run) = measured.map_err(|error| error.to_string())?;
    // A run that could not begin has none.
    if run.exists()
        && let Err(error) = fs::rename(&run, directory)
    {
        // In the cluster it is no more.
        let kept = fetched.keep();
        return Err(format!(
            "{}; the run is in {}",
            in_words(error),
            kept.display()
        ));
    }
    Ok(code)
}

fn away(plan: &Plan) -> Away {
    let place = &plan.cluster;
    Away {
        context: place.context.clone(),
        namespace: place.namespace.clone(),
        node: place.node.clone(),
        image: place.image.clone().unwrap_or_default(),
        pull_secret: place.pull_secret.clone(),
        plan: labelled(&plan.name),
        commit: plan.commit.clone(),
        files: files(plan),
        within: expected_duration(plan) * 2 + BEYOND,
    }
}

/// The plan as it is measured there, on the node that it finds itself on, and the files that it names.
fn files(plan: &Plan) -> BTreeMap<String, String> {
    let mut sent = plan.clone();
    sent.cluster = ClusterPlace::default();
    let mut files = BTreeMap::new();
    let mut send = |file: &mut ManifestFile| {
        let name = format!("{}.yaml", files.len());
        files.insert(name.clone(), file.text.clone());
        file.path = name.into();
    };
    for pod in sent.services.iter_mut().filter_map(|of| of.pod.as_mut()) {
        send(&mut pod.manifest);
    }
    for patch in sent.arms.iter_mut().flat_map(|arm| arm.patch.values_mut()) {
        send(patch);
    }
    files.insert("plan.toml".to_owned(), sent.to_resolved_toml());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_the_same_plan_beside_its_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["pod.yaml", "mesh.yaml"] {
            fs::write(folder.path().join(name), format!("kind: Pod # {name}\n")).unwrap();
        }
        let text = "name = 'shop'\n[cluster]\nimage = 'windage:1'\nnode = 'node2'\ncontext = 'staging'\n\
            [[service]]\nname = 'app'\npod = { manifest = './pod.yaml', port = 80 }\n\
            [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
            [[arm]]\nname = 'off'\nbaseline = true\n\
            [[arm]]\nname = 'mesh'\npatch = { app = 'mesh.yaml' }\n";
        let plan = Plan::parse(text, "plan.toml", folder.path()).unwrap();
        let files = files(&plan);
        let there = tempfile::tempdir().unwrap();
        for (name, text) in &files {
            fs::write(there.path().join(name), text).unwrap();
        }
        let read = Plan::parse(&files["plan.toml"], "plan.toml", there.path()).unwrap();
        assert_eq!(read.cluster, ClusterPlace::default(), "it is there already");
        let manifest = |plan: &Plan| plan.services[0].pod.as_ref().unwrap().manifest.text.clone();
        assert_eq!(manifest(&read), manifest(&plan));
        let patch = |plan: &Plan| plan.arms[2].patch.values().next().unwrap().text.clone();
        assert_eq!(patch(&read), "kind: Pod # mesh.yaml\n");
        assert_eq!(patch(&read), patch(&plan));
    }
}
