//! Answers about runs that are created, in progress, broken off and removed.

mod news;
mod shelf;

use std::fs;

use axum::http::{Request, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::Value;

use super::index;
use shelf::{Answer, COOKIE, Shelf, Shop};

/// The names in the list, in its order.
fn names(list: &Value) -> Vec<&str> {
    let runs = list["runs"].as_array().unwrap().iter();
    runs.map(|run| run["name"].as_str().unwrap()).collect()
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut runs = list["runs"].as_array().unwrap().iter();
    runs.find(|run| run["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[tokio::test]
async fn the_newest_run_comes_first() {
    let shelf = Shelf::new();
    for (name, at_s) in [("a", 10), ("all/b", 30), ("c", 20)] {
        shelf.ended(name, at_s);
    }
    let shop = Shop::open(&shelf);
    let list = shop.all_read().await;
    assert_eq!(names(&list), ["all/b", "c", "a"]);
    assert_eq!(list["directory"], shelf.path().display().to_string());
    let run = named(&list, "c");
    for (key, expected) in [
        ("plan", Value::from("p")),
        ("about", Value::Null),
        ("started", Value::from("1970-01-01T00:00:20Z")),
        ("state", Value::from("ended")),
        ("primary", Value::from("cpu_per_request")),
        ("rounds", Value::from(6)),
        ("arms", Value::from(3)),
        ("problem", Value::Null),
    ] {
        assert_eq!(run[key], expected, "{key} in {run}");
    }
    assert_eq!(run["costs_most"]["arm"], "a\"b");
    assert!(run["answer"].as_str().unwrap().contains("a\"b"), "{run}");
    assert!(run["verdict"].is_string());
}

#[tokio::test]
async fn damaged_runs_are_listed_and_hide_no_others() {
    let shelf = Shelf::new();
    shelf.ended("good", 1);
    shelf.ended("all/good", 1);
    drop(shelf.begun("empty", 2));
    drop(shelf.going_on("killed", 3, 2));
    shelf.ended("no-manifest", 4);
    fs::remove_file(shelf.path().join("no-manifest/manifest.json")).unwrap();
    for (name, file, text) in [
        ("no-json", "manifest.json", "{"),
        (
            "newer",
            "manifest.json",
            r#"{"format":99,"windage":"9.9.9"}"#,
        ),
        ("no-journal", "journal.bin", "<!DOCTYPE html>\n"),
    ] {
        shelf.ended(name, 5);
        fs::write(shelf.path().join(name).join(file), text).unwrap();
    }
    for (name, file) in [("pipe", "manifest.json"), ("piped", "journal.bin")] {
        shelf.ended(name, 6);
        let file = shelf.path().join(name).join(file);
        fs::remove_file(&file).unwrap();
        mkfifoat(CWD, &file, Mode::RUSR).unwrap();
    }
    let shop = Shop::open(&shelf);
    let list = shop.all_read().await;
    for (name, state, problem) in [
        ("good", "ended", None),
        ("all/good", "ended", None),
        ("empty", "broken_off", None),
        ("killed", "broken_off", None),
        ("no-manifest", "broken_off", Some("manifest.json")),
        ("no-json", "broken_off", Some("is damaged")),
        ("newer", "broken_off", Some("9.9.9")),
        (
            "no-journal",
            "broken_off",
            Some("does not begin like a journal"),
        ),
        ("pipe", "broken_off", Some("is a pipe")),
        ("piped", "broken_off", Some("is a pipe")),
    ] {
        let run = named(&list, name);
        assert_eq!(run["state"], state, "{run}");
        let found = run["problem"].as_str();
        assert_eq!(found.is_some(), problem.is_some(), "{run}");
        assert!(
            found
                .unwrap_or_default()
                .contains(problem.unwrap_or_default()),
            "{run}"
        );
        let page = shop
            .get(&format!("/api/runs/{}/page", name.replace('/', "%2F")))
            .await;
        let expected = match problem {
            None => StatusCode::OK,
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        assert_eq!(page.status, expected, "{name}: {}", page.text());
    }
    assert_eq!(
        named(&list, "no-journal")["plan"],
        "p",
        "readable runs are listed"
    );
    let (_, known, _) = index::Index::open(shelf.path());
    let known: Vec<_> = known.into_iter().map(|known| known.name).collect();
    let whole = ["all/good", "empty", "good", "killed"];
    assert_eq!(known, whole, "the rest may become readable");
}

#[tokio::test]
async fn a_run_has_its_documents() {
    let shelf = Shelf::new();
    shelf.ended("all/a b%", 1);
    let shop = Shop::open(&shelf);
    let of_run = "/api/runs/all%2Fa%20b%25";
    let page = shop.get(&format!("{of_run}/page")).await;
    assert_eq!(page.json()["directory"], "a b%");
    assert_eq!(page.json()["state"], "ended");
    let analysis = shop.get(&format!("{of_run}/analysis.json")).await.json();
    assert_eq!(analysis["run"], "r");
    assert_eq!(analysis, page.json()["analysis"]);
    let report = shop.get(&format!("{of_run}/report.html")).await;
    assert!(report.text().starts_with("<!DOCTYPE html>"));
    assert_eq!(
        report.header(header::CONTENT_TYPE),
        "text/html; charset=utf-8"
    );
    let file = "attachment; filename=\"all-a-b-.html\"";
    assert_eq!(report.header(header::CONTENT_DISPOSITION), file);
}

#[tokio::test]
async fn a_page_has_its_first_document_in_it() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    shelf.ended("all/b", 2);
    let shop = Shop::open(&shelf);
    shop.all_read().await;
    for (path, kind, same_as) in [
        ("/", "runs", "/api/runs"),
        ("/runs/all%2Fb", "run", "/api/runs/all%2Fb/page"),
        (
            "/compare/a/all%2Fb",
            "comparison",
            "/api/compare?a=a&b=all%2Fb",
        ),
    ] {
        let page = shop.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(
            page.header(header::CONTENT_TYPE),
            "text/html; charset=utf-8"
        );
        let same = Shop::request(same_as).header(header::ACCEPT_ENCODING, "gzip");
        let document = BASE64.encode(shop.ask(same).await.body);
        let text = page.text();
        assert!(
            text.contains(&format!("data-kind=\"{kind}\">{document}<")),
            "{path}"
        );
    }
    for (path, status) in [
        ("/runs/x", StatusCode::NOT_FOUND),
        ("/runs/..%2Fa", StatusCode::NOT_FOUND),
        ("/compare/a/x", StatusCode::BAD_REQUEST),
    ] {
        let page = shop.get(path).await;
        assert_eq!(page.status, status, "{path}");
        assert!(page.text().contains("data-kind=\"refusal\""), "{path}");
        let etag = page.header(header::ETAG);
        let again = Shop::request(path).header(header::IF_NONE_MATCH, etag);
        assert_eq!(shop.ask(again).await.status, StatusCode::NOT_MODIFIED);
    }
}

#[tokio::test]
async fn cached_documents_are_not_sent_again() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    let shop = Shop::open(&shelf);
    shop.all_read().await;
    for path in [
        "/",
        "/assets/windage.js",
        "/assets/windage.css",
        "/api/runs",
        "/api/runs/a/page",
    ] {
        let first = shop.get(path).await;
        assert_eq!(first.status, StatusCode::OK, "{path}");
        let etag = first.header(header::ETAG);
        let asked = Shop::request(path).header(header::IF_NONE_MATCH, format!("\"x\", {etag}"));
        let again = shop.ask(asked).await;
        assert_eq!(
            (again.status, again.body.len()),
            (StatusCode::NOT_MODIFIED, 0),
            "{path}"
        );
        assert_eq!(again.header(header::ETAG), etag, "{path}");
        let small = shop
            .ask(Shop::request(path).header(header::ACCEPT_ENCODING, "br, gzip"))
            .await;
        assert_eq!(small.header(header::CONTENT_ENCODING), "gzip", "{path}");
        assert!(small.body.starts_with(&[0x1f, 0x8b]), "{path}");
        assert_eq!(small.header(header::VARY), "accept-encoding", "{path}");
    }
    let before = shop.get("/api/runs/a/page").await.header(header::ETAG);
    shelf.remove("a");
    shelf.going_on("a", 1, 3).finish();
    let after = shop.get("/api/runs/a/page").await;
    assert_ne!(
        after.header(header::ETAG),
        before,
        "another run is another document"
    );
}

#[tokio::test]
async fn missing_things_are_refused_with_a_reason() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    fs::write(shelf.path().join("secret"), "hush").unwrap();
    let shop = Shop::open(&shelf);
    let odd = [
        "b",
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2fsecret",
        "..%2F..%2Fetc%2Fpasswd",
        "a%2F..",
        "a%2F..%2Fsecret",
        "a%2f",
        "%2Fetc",
        "a%00",
        "%00",
        "secret",
        ".",
        "%ff",
        "%",
        "a%",
        "A",
        "a%20",
        "%3Cscript%3E",
        "a;b",
        "a?b",
        "a#b",
        ".windage-index.sqlite",
        "a%5C..",
        "%25",
        "%252e%252e",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    for name in odd {
        for of in ["page", "analysis.json", "report.html", "events"] {
            let Ok(request) = Shop::request(&format!("/api/runs/{name}/{of}")).body(()) else {
                continue;
            };
            let answer = shop.ask_for(request).await;
            assert_eq!(
                answer.status,
                StatusCode::NOT_FOUND,
                "{name}/{of}: {}",
                answer.text()
            );
            assert!(
                answer.json()["error"].as_str().unwrap().len() > 10,
                "{name}/{of}"
            );
        }
    }
    for path in [
        "/api",
        "/api/runs/",
        "/api/runs/a",
        "/api/runs/a/journal.bin",
        "/api/runs/a/b/page",
        "/assets/",
        "/x",
    ] {
        let answer = shop.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.json()["error"].is_string(), "{path}");
    }
}

#[tokio::test]
async fn only_reads_under_an_address_are_answered() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    let shop = Shop::open(&shelf);
    let asked = |method: &str, host: &str| {
        Request::builder()
            .method(method)
            .uri("/api/runs")
            .header(header::HOST, host)
            .header(header::COOKIE, COOKIE)
    };
    for (method, host, expected) in [
        ("GET", "localhost:9470", StatusCode::OK),
        ("HEAD", "127.0.0.1:9470", StatusCode::OK),
        ("POST", "localhost", StatusCode::METHOD_NOT_ALLOWED),
        ("DELETE", "localhost", StatusCode::METHOD_NOT_ALLOWED),
        ("OPTIONS", "localhost", StatusCode::METHOD_NOT_ALLOWED),
        ("GET", "evil.example", StatusCode::MISDIRECTED_REQUEST),
        ("GET", "", StatusCode::MISDIRECTED_REQUEST),
    ] {
        let answer = shop.ask(asked(method, host)).await;
        assert_eq!(answer.status, expected, "{method} {host}");
        let policy = answer.header(header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(answer.header(header::REFERRER_POLICY), "no-referrer");
        assert_eq!(answer.header(header::CACHE_CONTROL), "no-cache");
        if method == "HEAD" {
            assert!(answer.body.is_empty());
        }
    }
    let twice = asked("GET", "localhost").header(header::HOST, "evil.example");
    assert_eq!(
        shop.ask(twice).await.status,
        StatusCode::MISDIRECTED_REQUEST
    );
    let nameless = Request::builder().uri("/api/runs");
    assert_eq!(
        shop.ask(nameless).await.status,
        StatusCode::MISDIRECTED_REQUEST
    );
    let absolute = Request::builder()
        .uri("http://evil.example/")
        .header(header::HOST, "localhost");
    assert_eq!(
        shop.ask(absolute).await.status,
        StatusCode::MISDIRECTED_REQUEST
    );
}

#[tokio::test]
async fn only_requests_with_the_token_are_answered() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    let shop = Shop::open(&shelf);
    for path in ["/", "/assets/windage.js", "/favicon.ico", "/api/runs", "/x"] {
        let bare = Request::builder()
            .uri(path)
            .header(header::HOST, "localhost");
        let refused = shop.ask(bare).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(
            refused.text().contains("open the URL"),
            "{}",
            refused.text()
        );
        assert!(!refused.headers.contains_key(header::SET_COOKIE), "{path}");
    }
    let with_token = Request::builder()
        .uri("/?token=0123abcd")
        .header(header::HOST, "localhost");
    let first = shop.ask(with_token).await;
    assert_eq!(first.status, StatusCode::OK);
    let cookie = first.header(header::SET_COOKIE);
    assert_eq!(
        cookie,
        format!("{COOKIE}; Path=/; HttpOnly; SameSite=Strict")
    );
    let second = shop.get("/").await;
    assert_eq!(second.status, StatusCode::OK);
    assert!(!second.headers.contains_key(header::SET_COOKIE));
}

#[tokio::test]
async fn requests_from_pages_of_other_servers_are_refused() {
    let shelf = Shelf::new();
    let shop = Shop::open(&shelf);
    for (name, value, expected) in [
        ("sec-fetch-site", "same-origin", StatusCode::OK),
        ("sec-fetch-site", "none", StatusCode::OK),
        ("sec-fetch-site", "same-site", StatusCode::FORBIDDEN),
        ("sec-fetch-site", "cross-site", StatusCode::FORBIDDEN),
        ("origin", "http://localhost", StatusCode::OK),
        ("origin", "http://localhost:9471", StatusCode::FORBIDDEN),
        ("origin", "https://evil.example", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
    ] {
        let answer = shop
            .ask(Shop::request("/api/runs").header(name, value))
            .await;
        assert_eq!(answer.status, expected, "{name}: {value}");
        if expected == StatusCode::FORBIDDEN {
            let why = answer.text();
            assert!(why.contains("address bar"), "{why}");
        }
    }
}

#[tokio::test]
async fn a_damaged_index_is_rebuilt() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    let first = Shop::open(&shelf).all_read().await;
    fs::write(shelf.path().join(index::FILE_NAME), "garbage").unwrap();
    let shop = Shop::open(&shelf);
    assert_eq!(shop.all_read().await, first);
    let [note] = &shop.notes()[..] else {
        panic!("one note")
    };
    assert!(note.contains("rebuilt"), "{note}");
    let again = Shop::open(&shelf);
    assert_eq!(
        again.get("/api/runs").await.json(),
        first,
        "known without reading a run"
    );
    assert_eq!(again.notes(), [""; 0]);
}

#[tokio::test]
async fn new_and_removed_runs_change_the_list() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    let shop = Shop::open(&shelf);
    assert_eq!(names(&shop.all_read().await), ["a"]);
    shelf.ended("b", 2);
    shelf.remove("a");
    let list = shop.until_list(|list| names(list) == ["b"]).await;
    assert_eq!(list["reading"], 0);
    assert_eq!(
        shop.get("/api/runs/a/page").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(shop.get("/api/runs/b/page").await.status, StatusCode::OK);
    fs::remove_dir_all(shelf.path()).unwrap();
    let no_list = |gone: &Answer| gone.status == StatusCode::SERVICE_UNAVAILABLE;
    let gone = shop.until("/api/runs", no_list).await.json();
    let why = gone["error"].as_str().unwrap();
    assert!(why.contains("can't be listed"), "{why}");
}

#[tokio::test]
async fn two_runs_are_compared() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    shelf.ended("all/b c", 2);
    let shop = Shop::open(&shelf);
    let compared = shop.get("/api/compare?a=a&b=all%2Fb+c").await;
    assert_eq!(compared.status, StatusCode::OK, "{}", compared.text());
    let started = |of: &str| compared.json()["comparison"][of]["started"].clone();
    assert_eq!(started("a"), "1970-01-01T00:00:01Z");
    assert_eq!(started("b"), "1970-01-01T00:00:02Z");
    for (query, why) in [
        ("", "missing field `a`"),
        ("?a=a", "missing field `b`"),
        ("?a=a&b=x", "there is no run x here"),
        ("?a=..%2Fx&b=a", "there is no run ../x here"),
    ] {
        let refused = shop.get(&format!("/api/compare{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}");
        let said = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(said.contains(why), "{query}: {said}");
    }
}

#[tokio::test]
async fn a_run_in_progress_is_compared_without_a_warning_about_it() {
    let shelf = Shelf::new();
    shelf.ended("a", 1);
    let run = shelf.going_on("b", 2, 4);
    let shop = Shop::open(&shelf);
    let warnings = async || {
        let compared = shop.get("/api/compare?a=a&b=b").await;
        assert_eq!(compared.status, StatusCode::OK, "{}", compared.text());
        compared.json()["comparison"]["warnings"].to_string()
    };
    let live = warnings().await;
    assert!(!live.contains("run_incomplete"), "{live}");
    drop(run);
    let broken_off = warnings().await;
    assert!(broken_off.contains("run_incomplete"), "{broken_off}");
}

#[tokio::test]
async fn a_thousand_runs_are_listed_at_once() {
    let mut tries = 0;
    let (shelf, shop) = loop {
        let shelf = Shelf::new();
        shelf.ended("run", 1);
        for number in 1..1000 {
            shelf.link("run", &format!("run-{number}"));
        }
        let shop = Shop::open(&shelf);
        let first = shop.get("/api/runs").await.json();
        if first["reading"].as_u64().unwrap() > 0 {
            break (shelf, shop);
        }
        // A stalled machine may read them all before the first answer.
        tries += 1;
        assert!(tries < 3, "it is answered before all is read");
    };
    let list = shop.all_read().await;
    assert_eq!(names(&list).len(), 1000);
    // From here on every read of a run fails, and the list would show it.
    for name in names(&list) {
        mkfifoat(CWD, shelf.path().join(name).join("pipe"), Mode::RUSR).unwrap();
    }
    let known = shop.get("/api/runs").await.json();
    assert_eq!(known, list, "nothing is read for a list");
    let again = Shop::open(&shelf).get("/api/runs").await.json();
    assert_eq!(again, list, "nothing is read with an index");
}

/// What `windage run` writes at its end, as far as history reads it.
fn analysis(day: u32, estimate: f64) -> String {
    serde_json::json!({
        "windage": "0.1.0", "run": format!("202601{day:02}-000000-shop"), "plan": "shop",
        "started": format!("2026-01-{day:02}T00:00:00Z"), "regime": null,
        "host": {"cpu_model": "6502", "cpus_online": 2}, "primary": "cpu_per_request",
        "validity": {"verdict": "valid", "reasons": []}, "other_loads": [], "arms": [
            {"id": "otel", "role": "treatment", "versions": {"commit": format!("{day:02}3456789abc")},
             "metrics": {
                "cpu_per_request": {"unit": "us", "rounds": 14, "validity": {"verdict": "valid"},
                    "relative": {"estimate": estimate, "low": estimate - 0.01, "high": estimate + 0.01},
                    "difference": null},
                "rss_peak": {"unit": "bytes", "rounds": 14, "validity": {"verdict": "suspect"},
                    "relative": null, "difference": {"estimate": 1.2e7, "low": null, "high": null}}}}],
    })
    .to_string()
}

#[tokio::test]
async fn history_is_that_of_the_directory() {
    let shelf = Shelf::new();
    let runs = shelf.path();
    for day in 1..=24 {
        let run = runs.join(format!("run{day}"));
        fs::create_dir(&run).unwrap();
        fs::write(run.join("manifest.json"), "{}").unwrap();
        let level = if day < 15 { 0.084 } else { 0.126 };
        let estimate = level + f64::from(day % 3) / 1000.0;
        fs::write(run.join("analysis.json"), analysis(day, estimate)).unwrap();
    }
    let shop = Shop::open(&shelf);
    let page = shop.get("/api/history").await.json();
    let [chart] = &page["charts"].as_array().unwrap()[..] else {
        panic!("{page}");
    };
    assert_eq!(chart["plan"], "shop");
    assert_eq!(chart["scale"]["unit"], "%");
    let arm = &chart["arms"][0];
    assert_eq!(arm["arm"], "otel");
    assert_eq!(arm["runs"], 24);
    assert_eq!(arm["results"][2]["text"], "+8.4 % (+7.4 to +9.4)");
    let changes = arm["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(
        changes[0]["text"],
        "2026-01-15, otel: up from +8.5 % to +12.7 %"
    );
    let command = "windage check PLAN --base 143456789 --head 153456789";
    assert_eq!(changes[0]["command"], command);
    let names: Vec<_> = page["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| &of["name"])
        .collect();
    assert_eq!(names, ["cpu_per_request", "rss_peak"]);

    let of_memory = shop.get("/api/history?metric=rss_peak").await.json();
    let found = &of_memory["charts"][0]["arms"][0]["results"][0];
    assert_eq!(found["text"], "+12.0 MB");
    assert_eq!(found["validity"], "suspect");
    let none = shop.get("/api/history?metric=nothing").await.json();
    assert_eq!(none["charts"], serde_json::json!([]));

    for path in ["/history", "/history/rss_peak"] {
        let page = shop.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.text().contains("data-kind=\"history\""), "{path}");
    }
    assert!(
        runs.join(windage_history::FILE_NAME).is_file(),
        "as `windage history` keeps it"
    );
}

#[tokio::test]
async fn a_file_that_is_no_history_is_left_alone() {
    let shelf = Shelf::new();
    let file = shelf.path().join(windage_history::FILE_NAME);
    fs::write(&file, "a shopping list").unwrap();
    let answer = Shop::open(&shelf).get("/api/history").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        answer.text().contains("history.sqlite"),
        "{}",
        answer.text()
    );
    assert_eq!(fs::read_to_string(file).unwrap(), "a shopping list");
}
