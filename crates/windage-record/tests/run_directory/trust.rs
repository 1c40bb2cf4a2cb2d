//! Whether the plan in a run directory may be executed again, and by whom.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use windage_files::owner;
use windage_record::{JournalWriter, Manifest, RunDir};

use crate::samples;

/// The resolved plan of the sample.
const RESOLVED: &str = "seed = 1\n";

#[test]
fn only_the_plan_that_the_run_began_with_is_resumed() {
    let table = [
        (Some(RESOLVED), RESOLVED, None, "unchanged"),
        (
            Some(RESOLVED),
            "seed = 2\n",
            Some("its SHA-256 is not the one"),
            "changed",
        ),
        (None, RESOLVED, Some("has no SHA-256"), "an older version's"),
    ];
    for (begun_with, found, expected, why) in table {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            resolved_sha256: begun_with.map(Manifest::hash_of),
            ..samples::manifest()
        };
        let host = serde_json::Value::Null;
        RunDir::create(dir.path(), &manifest, "", RESOLVED, &host).unwrap();
        fs::write(dir.path().join("resolved.toml"), found).unwrap();
        let read = RunDir::open(dir.path()).unwrap().plan_to_resume();
        match (read, expected) {
            (Ok(text), None) => assert_eq!(text, RESOLVED, "{why}"),
            (Err(error), Some(part)) => {
                let text = error.to_string();
                assert!(
                    text.contains(part) && text.contains("resolved.toml"),
                    "{text}"
                );
            }
            (read, _) => panic!("{why}: {read:?}"),
        }
    }
}

#[test]
fn a_run_that_others_can_have_written_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let run = samples::create(&path);
    drop(JournalWriter::create(&run).unwrap());
    let own = Some(owner(&path).unwrap());
    run.check_writers(own).unwrap();
    let table = [
        ("", 0o770),
        ("manifest.json", 0o620),
        ("journal.bin", 0o602),
        ("work", 0o777),
    ];
    for (name, mode) in table {
        let changed = path.join(name);
        let before = fs::metadata(&changed).unwrap().permissions();
        fs::set_permissions(&changed, Permissions::from_mode(mode)).unwrap();
        let error = run.check_writers(own).unwrap_err().to_string();
        assert!(error.contains("written by others"), "{name}: {error}");
        assert!(error.contains(name) && error.contains("chmod"), "{error}");
        fs::set_permissions(&changed, before).unwrap();
    }
    fs::rename(path.join("plan.toml"), dir.path().join("elsewhere")).unwrap();
    symlink(dir.path().join("elsewhere"), path.join("plan.toml")).unwrap();
    let error = run.check_writers(own).unwrap_err().to_string();
    assert!(error.contains("plan.toml is a symbolic link"), "{error}");
}

#[test]
fn no_file_of_a_run_is_read_through_a_link() {
    for name in ["resolved.toml", "host.json", "journal.bin", "lock"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let run = samples::create(&path);
        drop(JournalWriter::create(&run).unwrap());
        fs::rename(path.join(name), dir.path().join("elsewhere")).unwrap();
        symlink(dir.path().join("elsewhere"), path.join(name)).unwrap();
        let read = match name {
            "resolved.toml" => run.resolved_text().map(drop),
            "host.json" => run.host().map(drop),
            "journal.bin" => windage_record::Journal::read(&run).map(drop),
            _ => run.is_being_written().map(drop),
        };
        let error = read.unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{name}: {error}");
    }
}
