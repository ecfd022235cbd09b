//! A collector that is slow, broken or gone costs spans, which are counted, and never a request (D.6; invariant of
//! the bounded queue).

use std::time::Duration;

use blackbox::{Agent, Behaviour, Collector, Server, eventually, pair};
use tokio::time::timeout;

/// All requests together take no longer, whatever the collector does: the server waits seconds for each batch of spans.
const ALL_MAX: Duration = Duration::from_secs(180);
/// Spans that may wait; few, so that they are soon too many.
const QUEUE: u64 = 32;
/// Requests; several times what may wait.
const REQUESTS: u64 = 200;

async fn started(endpoint: &str) -> Server {
    Server::builder()
        .spans_to(endpoint)
        .env("OTEL_BSP_MAX_QUEUE_SIZE", &QUEUE.to_string())
        .env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
        .start()
        .await
}

async fn counter(server: &Server, name: &str) -> u64 {
    let metrics = server.stranger().get("/metrics").await.text();
    let line =
        metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{metrics}"));
    line.trim().parse().expect("a number")
}

async fn dropped(server: &Server) -> u64 {
    counter(server, "plenary_spans_dropped_total ").await
}

async fn requests(alice: &Agent, id: &str) {
    for number in 0..REQUESTS {
        alice.say(id, format!("message {number}")).await;
    }
}

/// Every way to be a bad collector: appends go on at their speed, lost spans are counted, and the exit is in time.
#[tokio::test]
async fn a_bad_collector_slows_nothing_and_holds_no_exit_up() {
    for behaviour in [
        Some(Behaviour::Hang),
        Some(Behaviour::Answer(500)),
        Some(Behaviour::Answer(503)),
        Some(Behaviour::Answer(302)),
        Some(Behaviour::HangUp),
        None,
    ] {
        let collector = Collector::start().await;
        let url = collector.url();
        // Without a behaviour it is gone, and its port refuses.
        let collector = behaviour.map(|behaviour| {
            collector.behave(behaviour);
            collector
        });
        let mut server = started(&url).await;
        let (alice, _, id) = pair(&server).await;
        let asked = timeout(ALL_MAX, requests(&alice, &id)).await;
        asked.unwrap_or_else(|_| panic!("{behaviour:?}: requests wait for the collector"));
        let lost = eventually("lost spans are counted", || async {
            let lost = dropped(&server).await;
            (lost > 0).then_some(lost)
        })
        .await;
        assert!(lost <= REQUESTS + 100, "{behaviour:?}: {lost}");
        assert_eq!(counter(&server, "plenary_spans_exported_total ").await, 0, "{behaviour:?}");
        // Panics when it takes too long.
        server.stop().await;
        if let Some(collector) = &collector {
            assert!(!collector.exports().is_empty(), "{behaviour:?}: it was asked");
        }
        assert!(!server.log_text().contains("panicked"), "{behaviour:?}");
    }
}

/// A collector that dies in the middle of an export and comes back gets the later spans; the lost ones are counted,
/// and the log says once that they are lost and once that they are not any more.
#[tokio::test]
async fn a_collector_that_comes_back_gets_the_later_spans() {
    let collector = Collector::start().await;
    let server = started(&collector.url()).await;
    let alice = server.agent("@alice.bot").await;
    collector.wait_for_span("agent.create").await;
    collector.behave(Behaviour::Answer(400));
    for _ in 0..50 {
        alice.get("/sessions").await.ok(200);
    }
    eventually("lost spans are counted", || async { (dropped(&server).await > 0).then_some(()) }).await;
    collector.behave(Behaviour::Take);
    eventually("a later span arrives", || async {
        alice.get("/agents/me").await.ok(200);
        collector.spans().iter().any(|span| span.name == "me.get").then_some(())
    })
    .await;
    // Said once the answer is there, which the collector gives after it has noted the span.
    let again = "accepts spans again";
    eventually("its return is said", || async { server.log_text().contains(again).then_some(()) }).await;
    let logged = server.log_text();
    let said = |text: &str| logged.lines().filter(|line| line.contains(text)).count();
    assert_eq!((said("does not accept spans"), said(again)), (1, 1), "{logged}");
}

/// A collector that is only busy is asked again, and nothing is lost.
#[tokio::test]
async fn a_busy_collector_is_asked_again() {
    let collector = Collector::start().await;
    collector.behave(Behaviour::Answer(503));
    let server = Server::builder().spans_to(&collector.url()).start().await;
    server.stranger().get("/healthz").await.ok(200);
    collector.wait_for_request().await;
    collector.behave(Behaviour::Take);
    collector.wait_for_span("server.health").await;
    assert_eq!(dropped(&server).await, 0);
}

/// A collector that hangs takes no memory either: what waits is bounded, and the rest is gone.
#[tokio::test]
async fn what_waits_for_a_collector_is_bounded() {
    let collector = Collector::start().await;
    collector.behave(Behaviour::Hang);
    let server = started(&collector.url()).await;
    let alice = server.agent("@alice.bot").await;
    collector.wait_for_request().await;
    for _ in 0..REQUESTS {
        alice.get("/sessions").await.ok(200);
    }
    let lost = dropped(&server).await;
    // The queue and the one batch that is on its way.
    assert!(lost >= REQUESTS - QUEUE - 8, "{lost}");
}
