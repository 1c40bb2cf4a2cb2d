//! Secrets that must not be written anywhere.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::files::{directories, files_below};
use crate::plans::Plan;
use crate::workshop::Workshop;

/// The built-in service, which first reports the length of a secret.
const SERVICE: &str = r#"name = 'app'
command = ['/bin/sh', '-c', 'echo "the secret has ${#PASSWORD} bytes"; exec "$@"', 'app',
    '{windage}', '__demo-service', '--listen', '{listen}']
ready = { http = '/healthz', within = '20s' }
env = { PASSWORD = '$WINDAGE_TEST_SECRET' }"#;

#[test]
fn secrets_are_written_nowhere() {
    let shop = Workshop::new();
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_nanos();
    let secret = format!("hush-{}-{nanos}", std::process::id());
    // A value that is no secret: shows that the search finds anything at all.
    let plain = format!("said-{nanos}");
    let plan = Plan {
        service: SERVICE,
        load: &format!(
            "headers = {{ authorization = '$WINDAGE_TEST_SECRET', x-plain = '{plain}' }}"
        ),
        arms: "[[arm]]\nname = 'Same, again'\nenv = { AGAIN = '$WINDAGE_TEST_SECRET' }",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let args = ["run", "plan.toml", "--out", &shop.run];
    let ended = shop
        .start(&args, &[("WINDAGE_TEST_SECRET", &secret)])
        .end()
        .code(0);
    let holding = |text: &str| -> Vec<PathBuf> {
        let holds = |file: &PathBuf| {
            let bytes = fs::read(file).unwrap();
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        files_below(&shop.of_run(""))
            .into_iter()
            .filter(holds)
            .collect()
    };
    assert!(!holding(&plain).is_empty());
    assert_eq!(holding(&secret), Vec::<PathBuf>::new());
    assert!(!ended.stdout.contains(&secret) && !ended.stderr.contains(&secret));
    let resolved = fs::read_to_string(shop.of_run("resolved.toml")).unwrap();
    assert!(resolved.contains("PASSWORD = \"$WINDAGE_TEST_SECRET\""));
    let arrived = format!("the secret has {} bytes", secret.len());
    let logs = shop.logs_of("app");
    assert!(
        !logs.is_empty() && logs.iter().all(|log| log.contains(&arrived)),
        "{logs:?}"
    );
    // Without `--shared`, only the owner can read any of it.
    let expected = (BTreeSet::from([0o700]), BTreeSet::from([0o600]));
    assert_eq!(modes(&shop), expected);
}

/// The permissions of all directories of a run, and of all its files.
fn modes(shop: &Workshop) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let run = shop.of_run("");
    let directories = directories(&run).iter().map(mode).collect();
    (directories, files_below(&run).iter().map(mode).collect())
}

#[test]
fn a_shared_run_directory_follows_the_umask() {
    let shop = Workshop::new();
    let plan = Plan {
        rounds: 1,
        length: "200ms",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    fs::create_dir(shop.dir().join("by-umask")).unwrap();
    let by_umask = fs::metadata(shop.dir().join("by-umask")).unwrap();
    let by_umask = by_umask.permissions().mode() & 0o777;
    let args = ["run", "plan.toml", "--shared", "--out", &shop.run];
    shop.windage(&args).code(0);
    let expected = (
        BTreeSet::from([by_umask]),
        BTreeSet::from([by_umask & 0o666]),
    );
    assert_eq!(modes(&shop), expected);
}

#[test]
fn literal_secrets_are_warned_about_without_their_value() {
    let shop = Workshop::new();
    let service = SERVICE.replace("$WINDAGE_TEST_SECRET", "hunter2");
    let plan = Plan {
        service: &service,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let ended = shop.windage(&["doctor", "plan.toml"]).code(0);
    assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    ended.says(&[
        "warning",
        "`env.PASSWORD` of service `app`",
        "\"$PASSWORD\"",
    ]);
}

#[test]
fn a_variable_that_is_not_set_is_asked_for_before_anything_is_written() {
    let shop = Workshop::new();
    let plan = Plan {
        service: SERVICE,
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(2);
    ended.says(&[
        "`env.PASSWORD` of service `app`",
        "no variable WINDAGE_TEST_SECRET",
        "export",
    ]);
    assert!(!shop.of_run("").exists());
}

#[test]
fn a_secret_that_is_not_set_is_asked_for() {
    let shop = Workshop::new();
    let plan = Plan {
        load: "headers = { authorization = '$WINDAGE_TEST_SECRET' }",
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(2);
    ended.says(&["WINDAGE_TEST_SECRET", "not set", "authorization"]);
}
