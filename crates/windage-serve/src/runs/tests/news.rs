//! Events of the list, and of runs that continue, end, break off or are removed.

use axum::http::StatusCode;
use futures_util::StreamExt as _;
use serde_json::Value;
use windage_model::{WarningCode, fixtures};
use windage_record::{Ending, Entry};

use super::shelf::{Answer, LONGEST, Shelf, Shop, Stream};
use super::{named, names};

/// Reads a stream up to the named event, and returns that event.
async fn event(stream: &mut Stream, name: &str) -> String {
    loop {
        let event = tokio::time::timeout(LONGEST, stream.next()).await;
        let event = event
            .expect("an event in time")
            .expect("the stream continues");
        if event.lines().any(|line| line == format!("event: {name}")) {
            return event;
        }
    }
}

fn data(event: &str) -> Value {
    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap()).unwrap()
}

#[tokio::test]
async fn a_run_in_progress_is_followed_to_its_end() {
    let shelf = Shelf::new();
    let mut run = shelf.going_on("a", 1, 2);
    let shop = Shop::open(&shelf);
    let list = shop.all_read().await;
    assert_eq!(named(&list, "a")["state"], "going_on");
    let page = shop.get("/api/runs/a/page").await.json();
    assert_eq!(page["state"], "going_on");
    let reasons = page["analysis"]["validity"]["reasons"].to_string();
    assert!(!reasons.contains("run_incomplete"), "{reasons}");

    let mut events = shop.stream("/api/runs/a/events").await;
    let progress = data(&event(&mut events, "progress").await);
    assert_eq!(
        (&progress["state"], &progress["blocks_done"]),
        (&"going_on".into(), &2.into())
    );
    run.block();
    let progress = data(&event(&mut events, "progress").await);
    assert_eq!(progress["blocks_done"], 3);
    assert_eq!(
        data(&event(&mut events, "page").await),
        serde_json::json!({})
    );
    assert_ne!(
        shop.get("/api/runs/a/page").await.json(),
        page,
        "the count has grown"
    );

    let died = fixtures::warning(WarningCode::ArmDied);
    run.push(&Entry::Warning(died));
    run.finish();
    let mut progress = Value::Null;
    while progress["state"] != "ended" {
        progress = data(&event(&mut events, "progress").await);
    }
    assert!(
        progress["events"]
            .to_string()
            .contains("Service `app` of arm `otel` exited"),
        "{progress}"
    );
    event(&mut events, "page").await;
    assert_eq!(events.next().await, None, "it ends with the run");
    assert_eq!(shop.get("/api/runs/a/page").await.json()["state"], "ended");
    shop.until_list(|list| named(list, "a")["state"] == "ended")
        .await;
    let again = Shop::request("/api/runs/a/events").header("last-event-id", "ended");
    assert_eq!(shop.ask(again).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_run_that_is_killed_is_broken_off() {
    let shelf = Shelf::new();
    let run = shelf.going_on("a", 1, 2);
    let shop = Shop::open(&shelf);
    assert_eq!(named(&shop.all_read().await, "a")["state"], "going_on");
    assert_eq!(
        shop.get("/api/runs/a/page").await.json()["state"],
        "going_on"
    );
    let mut events = shop.stream("/api/runs/a/events").await;
    event(&mut events, "progress").await;
    // Its lock is released, and nothing else changes.
    drop(run);
    assert_eq!(
        data(&event(&mut events, "progress").await)["state"],
        "broken_off"
    );
    event(&mut events, "page").await;
    assert_eq!(events.next().await, None);
    assert_eq!(
        shop.get("/api/runs/a/page").await.json()["state"],
        "broken_off"
    );
    shop.until_list(|list| named(list, "a")["state"] == "broken_off")
        .await;
}

#[tokio::test]
async fn a_removed_run_ends_its_events() {
    let shelf = Shelf::new();
    let run = shelf.going_on("a", 1, 1);
    let shop = Shop::open(&shelf);
    let mut events = shop.stream("/api/runs/a/events").await;
    event(&mut events, "progress").await;
    shelf.remove("a");
    let mut last = String::new();
    while let Some(event) = events.next().await {
        last = event;
    }
    assert!(last.contains("event: page"), "{last}");
    // Until the next scan of the directory, the run has events.
    let is_gone = |answer: &Answer| answer.status == StatusCode::NOT_FOUND;
    shop.until("/api/runs/a/events", is_gone).await;
    let again = Shop::request("/api/runs/a/events").header("last-event-id", "ended");
    let again = shop.ask(again).await.status;
    assert_eq!(again, StatusCode::NOT_FOUND, "a browser reconnects");
    drop(run);
}

#[tokio::test]
async fn an_unreadable_run_ends_its_events() {
    let shelf = Shelf::new();
    let run = shelf.going_on("a", 1, 1);
    let journal = shelf.path().join("a/journal.bin");
    std::fs::write(journal, "<!DOCTYPE html>\n").unwrap();
    let shop = Shop::open(&shelf);
    shop.all_read().await;
    let mut events = shop.stream("/api/runs/a/events").await;
    let only = events.next().await.unwrap();
    assert!(only.contains("event: page"), "{only}");
    assert_eq!(events.next().await, None);
    let again = Shop::request("/api/runs/a/events").header("last-event-id", "ended");
    assert_eq!(shop.ask(again).await.status, StatusCode::NO_CONTENT);
    drop(run);
}

#[tokio::test]
async fn changes_of_the_list_are_reported() {
    let shelf = Shelf::new();
    let shop = Shop::open(&shelf);
    let mut events = shop.stream("/api/events").await;
    assert_eq!(
        data(&event(&mut events, "runs").await),
        serde_json::json!({})
    );
    shelf.ended("a", 1);
    event(&mut events, "runs").await;
    assert_eq!(names(&shop.all_read().await), ["a"]);
}

#[tokio::test]
async fn what_a_browser_knows_is_not_sent_again() {
    let shelf = Shelf::new();
    let run = shelf.going_on("a", 1, 1);
    let shop = Shop::open(&shelf);
    shop.all_read().await;
    shop.get("/api/runs/a/page").await;
    for path in ["/api/events", "/api/runs/a/events"] {
        let first = shop.get(path).await.text();
        assert!(first.contains("event: "), "{first}");
        let id = first.lines().find_map(|line| line.strip_prefix("id: "));
        let again = Shop::request(path).header("last-event-id", id.unwrap());
        let again = shop.ask(again).await.text();
        assert!(!again.contains("event: "), "{path}: {again}");
    }
    drop(run);
}

#[tokio::test]
async fn a_broken_off_run_ends_its_events() {
    let shelf = Shelf::new();
    let mut run = shelf.going_on("a", 1, 1);
    run.push(&Entry::RunEnded(Ending::Interrupted));
    run.commit();
    drop(run);
    let shop = Shop::open(&shelf);
    shop.all_read().await;
    let mut events = shop.stream("/api/runs/a/events").await;
    let progress = data(&event(&mut events, "progress").await);
    assert_eq!(progress["state"], "ended");
    assert!(progress["events"].to_string().contains("interrupted"));
}
