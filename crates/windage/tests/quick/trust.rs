//! Run directories that may not be resumed: their plan is code.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::plans::Plan;
use crate::skip::skip;
use crate::workshop::Workshop;

#[test]
fn a_changed_plan_is_not_executed() {
    let shop = Workshop::new();
    let plan = Plan {
        rounds: 1,
        length: "200ms",
        ..Plan::default()
    };
    shop.start_plan(&plan.text()).end().code(0);
    let resume = ["run", "--resume", &shop.run];
    if nix::unistd::geteuid().is_root() {
        let mode = |mode| fs::set_permissions(shop.of_run(""), Permissions::from_mode(mode));
        mode(0o770).unwrap();
        shop.windage(&resume)
            .code(2)
            .says(&["written by others", "chmod"]);
        mode(0o700).unwrap();
    } else {
        skip(
            "a run that others can write",
            "not root: only root refuses it",
        );
    }
    let resolved = shop.of_run("resolved.toml");
    let text = fs::read_to_string(&resolved).unwrap();
    fs::write(&resolved, text.replace("echo", "touch executed; echo")).unwrap();
    let refused = shop.windage(&resume).code(2);
    refused.says(&["resolved.toml", "not the plan that the run began with"]);
    assert!(!shop.dir().join("executed").exists());
    // Reports execute nothing, and read it all the same.
    shop.windage(&["report", &shop.run, "--json"]).code(0);
}
