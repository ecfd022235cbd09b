//! The history that an agent without its own memory gets (SC-4).

use std::sync::Arc;

use plenary_runs::{Card, Run, RunEnd, RunFuture, RunLimits, RunRequest, Runner};
use serde_json::json;

use crate::house::{House, agent};

/// Answers with the whole history.
struct Elephant;

impl Runner for Elephant {
    fn card(&self) -> Card {
        Card::new("remembers")
    }
    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move {
            let Ok(turns) = run.turns().await else { return RunEnd::error("no memory") };
            let before: Vec<String> = turns
                .into_iter()
                .map(|turn| {
                    format!("{}>{}", turn.request.input.unwrap_or_default(), turn.result.unwrap_or_default())
                })
                .collect();
            RunEnd::with(format!("[{}]{}", before.join(","), request.input.unwrap_or_default()))
        })
    }
}

#[tokio::test]
async fn sc_4_a_thread_remembers_its_runs_and_another_does_not() {
    let house = House::with(vec![agent("elephant", Arc::new(Elephant), RunLimits::default())]).await;
    let path = "/agent/elephant/run?wait=result";
    let first = house.post(&house.acme, path, &json!({"input": "a"})).await;
    assert_eq!(first.ok(200)["result"], "[]a");
    let thread = first.header("x-thread-id");
    for (input, result) in [("b", "[a>[]a]b"), ("c", "[a>[]a,b>[a>[]a]b]c")] {
        let next = house.post(&house.acme, path, &json!({"input": input, "thread_id": thread})).await;
        assert_eq!(next.ok(200)["result"], result);
    }
    let other = house.post(&house.acme, path, &json!({"input": "d"})).await;
    assert_eq!(other.ok(200)["result"], "[]d");
}
