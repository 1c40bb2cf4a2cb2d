//! The users that subjects run as, and that run directories belong to.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::files::{directories, files_below};
use crate::plans::Plan;
use crate::skip::skip;
use crate::workshop::Workshop;

/// `nobody`, as user and group.
const NOBODY: u32 = 65534;

/// Whether this test can run Windage as `nobody`; if not, it is noted as skipped.
fn can_change_users(test: &str) -> bool {
    if !nix::unistd::geteuid().is_root() {
        skip(test, "not root: can't become another user");
        return false;
    }
    let windage = env!("CARGO_BIN_EXE_windage");
    let ended = Command::new(windage)
        .arg("--version")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    if let Err(error) = ended {
        skip(test, &format!("another user can't run {windage}: {error}"));
        return false;
    }
    true
}

/// A shell that reports who it is, writes into its directory and becomes the built-in service.
fn service(name: &str, more: &str) -> String {
    format!(
        r#"name = '{name}'
command = ['/bin/sh', '-c', '''
grep -E '^(Uid|NoNewPrivs):' /proc/self/status
echo "noise=$WINDAGE_TEST_NOISE. user=$USER."
echo made > "$0/made" && shift && exec "$@"
''', '{{dir}}', 'app', '{{windage}}', '__demo-service', '--listen', '{{listen}}']
ready = {{ http = '/healthz', within = '20s' }}
{more}"#
    )
}

fn plan(services: &str) -> String {
    Plan {
        service: services,
        rounds: 1,
        length: "200ms",
        ..Plan::default()
    }
    .text()
}

/// A workshop that belongs to `nobody`.
fn of_nobody() -> Workshop {
    let shop = Workshop::new();
    chown(shop.dir(), Some(NOBODY), Some(NOBODY)).unwrap();
    shop
}

fn assert_logged(shop: &Workshop, service: &str, parts: &[String]) {
    let logs = shop.logs_of(service);
    assert!(!logs.is_empty(), "no log of {service}");
    for log in logs {
        for part in parts {
            assert!(log.contains(part), "{service}: {log} lacks {part}");
        }
    }
}

fn is_user(uid: u32) -> String {
    format!("Uid:{}", format!("\t{uid}").repeat(4))
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().uid()
}

#[test]
fn under_sudo_subjects_and_files_belong_to_the_invoking_user() {
    if !can_change_users("users under sudo") {
        return;
    }
    let shop = of_nobody();
    let services = [
        service("app", "clean_env = true"),
        service("helper", "user = 'root'"),
    ];
    shop.write("plan.toml", &plan(&services.join("\n\n[[service]]\n")));
    let out = format!("runs/{}", shop.run);
    let number = NOBODY.to_string();
    let env = [
        ("SUDO_UID", number.as_str()),
        ("SUDO_GID", &number),
        ("WINDAGE_TEST_NOISE", "loud"),
    ];
    let args = ["run", "plan.toml", "--out", &out];
    shop.start(&args, &env).end().code(0);
    // Where `logs_of` looks.
    fs::rename(shop.dir().join(&out), shop.of_run("")).unwrap();
    let of_app = [
        is_user(NOBODY),
        "NoNewPrivs:\t1".to_owned(),
        "noise=. user=.".to_owned(),
    ];
    assert_logged(&shop, "app", &of_app);
    let of_helper = [
        is_user(0),
        "NoNewPrivs:\t0".to_owned(),
        "noise=loud.".to_owned(),
    ];
    assert_logged(&shop, "helper", &of_helper);
    assert_eq!(owner(&shop.dir().join("runs")), NOBODY);
    let run = shop.of_run("");
    for path in directories(&run).into_iter().chain(files_below(&run)) {
        let is_made_by_root = path.ends_with("made") && path.to_string_lossy().contains("+helper");
        let expected = if is_made_by_root { 0 } else { NOBODY };
        assert_eq!(owner(&path), expected, "{}", path.display());
    }
    // The invoking user's own run is trusted, even though Windage is root.
    shop.start(&["run", "--resume", &shop.run], &env)
        .end()
        .code(0);
    // Without sudo, root does not trust it.
    let args = ["run", "--resume", &shop.run];
    shop.windage(&args).code(2).says(&["belongs to user 65534"]);
}

#[test]
fn a_service_of_another_user_writes_into_its_directory_only() {
    if !can_change_users("services of another user") {
        return;
    }
    let shop = Workshop::new();
    fs::set_permissions(shop.dir(), Permissions::from_mode(0o711)).unwrap();
    let service = service("app", "user = 'nobody'");
    shop.write("plan.toml", &plan(&service));
    let args = ["run", "plan.toml", "--keep-work", "--out", &shop.run];
    shop.windage(&args).code(0);
    let of_app = [
        is_user(NOBODY),
        "NoNewPrivs:\t1".to_owned(),
        "user=nobody.".to_owned(),
    ];
    assert_logged(&shop, "app", &of_app);
    let mode = |name: &str| fs::metadata(shop.of_run(name)).unwrap().mode() & 0o777;
    let modes = ["", "work", "logs", "resolved.toml"].map(mode);
    assert_eq!(modes, [0o711, 0o711, 0o700, 0o600]);
    for path in files_below(&shop.of_run("work")) {
        assert!(path.ends_with("made"), "{}", path.display());
        assert_eq!(owner(&path), NOBODY);
    }
}

#[test]
fn a_user_who_is_not_root_runs_subjects_without_new_privileges() {
    if !can_change_users("windage of an unprivileged user") {
        return;
    }
    let shop = of_nobody();
    shop.write("plan.toml", &plan(&service("app", "")));
    let args = ["run", "plan.toml", "--out", &shop.run];
    shop.start_as(NOBODY, &args).end().code(0);
    assert_logged(
        &shop,
        "app",
        &[is_user(NOBODY), "NoNewPrivs:\t1".to_owned()],
    );
    shop.write("plan.toml", &plan(&service("app", "user = 'root'")));
    let args = ["run", "plan.toml", "--out", "another"];
    let refused = shop.start_as(NOBODY, &args).end().code(2);
    refused.says(&["service `app`", "`user`, `root`", "sudo"]);
}
