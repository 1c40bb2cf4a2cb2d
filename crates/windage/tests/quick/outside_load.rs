//! Programs outside the run are seen, and named.

use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::contract;
use crate::plans::{BRIEF, Plan};
use crate::workshop::Workshop;

/// A program that keeps a core busy until the test ends. It ends by itself if the test can't end it.
struct Busy {
    child: Child,
    /// Not the run's folder, in which nothing may be left running.
    _folder: TempDir,
}

impl Busy {
    fn start(name: &str) -> Busy {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(name);
        symlink("/bin/sh", &program).unwrap();
        let script = "parent=$PPID; while [ -d /proc/$parent ]; do :; done";
        let child = Command::new(&program)
            .args(["-c", script])
            .stdin(Stdio::null())
            .spawn();
        Busy {
            child: child.unwrap(),
            _folder: folder,
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_busy_program_outside_the_run_is_named() {
    let shop = Workshop::new();
    let plan = Plan {
        window: "100ms",
        length: "2s",
        rounds: 1,
        // A service that all arms share is a part of the run, however busy it is.
        service: "name = 'shared'\n\
            shared = true\n\
            command = ['./busy-shared', '-c', 'while :; do :; done']\n\n\
            [[service]]\n\
            name = 'app'\n\
            command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
            ready = { http = '/healthz', within = '20s' }",
        design: BRIEF,
        ..Plan::default()
    };
    symlink("/bin/sh", shop.dir().join("busy-shared")).unwrap();
    let _busy = Busy::start("busy-outside");
    shop.start_plan(&plan.text()).end().code(0);
    let json = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    assert!(contract::reasons(&json).contains(&"outside_load"), "{json}");
    let reasons = json["validity"]["reasons"].as_array().unwrap();
    let reason = reasons
        .iter()
        .find(|reason| reason["code"] == "outside_load");
    let evidence = &reason.unwrap()["evidence"];
    assert!(evidence["cores"].as_f64() > Some(0.1), "{evidence}");
    let programs = evidence["programs"].as_array().unwrap();
    let names = |name: &str| {
        let is_it = |of: &&Value| of.as_str().unwrap().starts_with(name);
        programs.iter().filter(is_it).count()
    };
    assert_eq!(names("busy-outside ("), 1, "{evidence}");
    assert_eq!(names("busy-shared"), 0, "{evidence}");
    // On few cores there are other warnings as well, of which a short report shows the first.
    let all = shop.windage(&["report", &shop.run, "--all"]).code(0);
    assert!(all.stdout.contains("busy-outside"), "{}", all.stdout);
}
