//! The state that a process leaves when it ends, and several processes on one store.

use serde_json::json;

use crate::house::{House, types};

#[tokio::test]
async fn after_a_crash_what_went_on_ends_with_an_error_and_what_waited_runs() {
    let house = House::new().await;
    let waiting = json!({"input": "a", "request_metadata": {"demo": ["wait_for_input"]}});
    let (first, thread) = house.start_run(&waiting).await;
    let (second, _) = house.start_run(&json!({"input": "b", "thread_id": thread})).await;
    let slow = json!({"input": "a", "request_metadata": {"demo": ["slow"]}});
    let (third, _) = house.start_run(&slow).await;
    // The next start finds what this one would have left.
    house.runs.resume().await.unwrap();
    for run in [&first, &third] {
        let events = house.all_events("echo", run).await;
        let last = events.last().unwrap();
        assert_eq!(last["finish_reason"], "error");
        assert!(last["error"].as_str().unwrap().contains("stopped"), "{last}");
    }
    assert_eq!(types(&house.all_events("echo", &second).await), ["RunStarted", "TextOutput", "RunCompleted"]);
    house.runs.resume().await.unwrap();
}
