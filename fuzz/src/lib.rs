//! Code shared by the targets and the writer of seeds: a run directory for journals, and an
//! independent implementation of the journal's framing.

pub mod frames;

use std::collections::BTreeMap;

use tempfile::TempDir;
use windage_model::{ArmId, ArmIndex, Backend, LoadModel, Order, Role};
use windage_record::{DesignScope, LoadScope, Manifest, ManifestArm, RunDir};

/// A run directory that is removed when dropped.
pub struct Folder {
    /// The run.
    pub run: RunDir,
    _directory: TempDir,
}

impl Folder {
    /// Creates one in the system's temporary folder; `TMPDIR=/dev/shm` avoids the disk.
    ///
    /// # Panics
    /// When it can't be created: then there is nothing to fuzz.
    #[must_use]
    pub fn new() -> Folder {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let run = RunDir::create(
            directory.path(),
            &manifest(),
            "",
            "",
            &serde_json::Value::Null,
        )
        .expect("a run directory");
        Folder {
            run,
            _directory: directory,
        }
    }
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

fn manifest() -> Manifest {
    let arm = |index, name: &str, role| ManifestArm {
        index: ArmIndex(index),
        id: ArmId::from_text(name).expect("a name with letters"),
        name: name.to_owned(),
        about: None,
        role,
        levels: BTreeMap::new(),
        expected: None,
        backend: Backend::Ok,
        adds_to: None,
        same_as: None,
        agents: Vec::new(),
        bystander_of: None,
    };
    Manifest {
        windage: "0.1.0".to_owned(),
        run: "fuzz".to_owned(),
        plan: "fuzz".to_owned(),
        about: None,
        plan_folder: "/plans".into(),
        command: "windage run fuzz.toml".to_owned(),
        started_unix_ns: 1_763_632_800_000_000_000,
        seed: 1,
        arms: vec![
            arm(0, "off", Role::Baseline),
            arm(1, "control", Role::Control),
            arm(2, "otel", Role::Treatment),
        ],
        load: LoadScope {
            regime: None,
            model: LoadModel::Closed,
            rate_per_s: None,
            connections: 8,
            request: None,
            iterations: None,
        },
        other_loads: Vec::new(),
        design: DesignScope {
            window_ns: 100_000_000,
            settle_ns: 10_000_000,
            rounds: 1,
            blocks_per_round: 1,
            warmup_ns: 0,
            drain_ns: 0,
            idle_ns: 0,
            order: Order::Mirrored,
            margin: 0.005,
            subject_cores: 1,
            placement: Vec::new(),
            stop: None,
        },
    }
}
