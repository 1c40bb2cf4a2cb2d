//! Secrets that must not be written anywhere.

use std::fs;
use std::path::PathBuf;

use crate::files::files_below;
use crate::plans::Plan;
use crate::workshop::Workshop;

#[test]
fn a_secret_header_is_written_nowhere() {
    let shop = Workshop::new();
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_nanos();
    let secret = format!("hush-{}-{nanos}", std::process::id());
    // A value that is no secret: shows that the search finds anything at all.
    let plain = format!("said-{nanos}");
    let plan = Plan {
        load: &format!(
            "headers = {{ authorization = '$WINDAGE_TEST_SECRET', x-plain = '{plain}' }}"
        ),
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
