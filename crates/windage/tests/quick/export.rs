//! Raw records as tables.

use std::fs;

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A table, its first columns after those that all have, and its rows in a run of two launches.
const TABLES: [(&str, &str, &str); 3] = [
    (
        "windows",
        "launch,round,block,position,predecessor,",
        ",is_void",
    ),
    ("blocks", "launch,round,block,order,started_ns,", ",is_void"),
    (
        "launches",
        "launch,round,started_ns,load_model,rate_per_s,",
        ",pss_bytes",
    ),
];

#[test]
fn raw_records_are_exported_as_csv_and_parquet() {
    let shop = Workshop::new();
    let plan = Plan {
        design: "warmup = '50ms'\ndrain = '50ms'\nidle = '50ms'\nturn = 20\nblock = '100ms'",
        length: "1200ms",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    shop.windage(&["run", "plan.toml", "--out", &shop.run, "--quiet"])
        .code(0);
    for (table, first, last) in TABLES {
        let args = ["report", &shop.run, "--format", table];
        let text = shop.windage(&args).code(0).stdout;
        let heading = text.lines().next().unwrap();
        let expected = format!("run,plan,regime,arm,role,{first}");
        assert!(heading.starts_with(&expected), "{heading}");
        assert!(heading.ends_with(last), "{heading}");
        let rows = text.lines().count() - 1;
        match table {
            "launches" => assert_eq!(rows, 2 * 3, "launches and arms: {text}"),
            _ => assert!(rows >= 6 && rows.is_multiple_of(3), "{text}"),
        }
        for arm in [
            ",off,baseline,",
            ",control,control,",
            ",same-again,treatment,",
        ] {
            assert!(text.contains(arm), "{arm} in {text}");
        }
        let csv = format!("{table}.csv");
        shop.windage(&[&args[..], &["--out", &csv]].concat())
            .code(0);
        assert_eq!(fs::read_to_string(shop.dir().join(&csv)).unwrap(), text);
        for (file, flags) in [("table.parquet", &[][..]), ("table", &["--parquet"][..])] {
            shop.windage(&[&args[..], &["-o", file], flags].concat())
                .code(0);
            let bytes = fs::read(shop.dir().join(file)).unwrap();
            assert!(
                bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"),
                "{file}"
            );
        }
    }
    check_refusals(&shop);
}

fn check_refusals(shop: &Workshop) {
    let table: [(&[&str], &[&str]); 4] = [
        (&["--parquet"], &["--parquet", "--format windows"]),
        (
            &["--format", "blocks", "--budget", "2%"],
            &["--budget", "--format guide"],
        ),
        (
            &["--format", "blocks", "--otlp", "http://127.0.0.1:4318"],
            &["--otlp", "--format json"],
        ),
        (
            &["nowhere", "--format", "windows", "-o", "never"],
            &["nowhere"],
        ),
    ];
    for (args, words) in table {
        let ended = shop.windage(&[&["report", &shop.run], args].concat());
        assert_eq!(ended.code(2).says(words).stdout, "", "{args:?}");
    }
    assert!(!shop.dir().join("never").exists(), "nothing was written");
}
