//! Instances without connections, and connections without instances.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{Error, extract::ws::Message};
use futures_util::{Sink, StreamExt as _, stream};
use plenary_runs::{Event, RunReceiver};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{instance::Instance, pump::End, *};
use crate::{
    protocol::InvalidLines,
    testing::{request, run},
};

fn connected(attach_wait: &str) -> Arc<ConnectedRunner> {
    let settings = serde_json::from_value(json!({"attach_wait": attach_wait})).unwrap();
    Arc::new(ConnectedRunner::new(settings, &"@nick.tool".parse().unwrap(), &AttachPoint::default()).unwrap())
}

fn start(agent: &Arc<ConnectedRunner>, request: &RunRequest) -> (JoinHandle<RunEnd>, RunReceiver) {
    let (run, receiver) = run(request);
    (tokio::spawn(agent.clone().run(request.clone(), run)), receiver)
}

/// An instance as its connection holds it.
struct TestInstance {
    instance: Arc<Instance>,
    frames: mpsc::Receiver<String>,
}

impl TestInstance {
    fn to(agent: &ConnectedRunner) -> Self {
        let (frames, outgoing) = mpsc::channel(FRAMES_WAITING_MAX);
        Self { instance: agent.pool().attach(frames), frames: outgoing }
    }

    async fn next_request(&mut self) -> Value {
        serde_json::from_str(&self.frames.recv().await.unwrap()).unwrap()
    }

    async fn send_frame(&self, frame: Value) {
        let mut invalid_lines = InvalidLines::new("tool".into(), "a test".into());
        self.instance.dispatch(frame.to_string().as_bytes(), &mut invalid_lines).await;
    }
}

#[tokio::test]
async fn the_least_busy_gets_a_run_and_a_thread_stays_where_it_is() {
    let agent = connected("1h");
    let (first_instance, second_instance) = (TestInstance::to(&agent), TestInstance::to(&agent));
    let ask = || request(&json!({"input": "hi"}));
    let home = ask();
    let first = agent.pool().assign(&home, agent.wait).await.unwrap();
    let mut other = ask();
    other.thread_id = plenary_runs::id::ThreadId::mint(
        &plenary_kernel::Stamp::new(plenary_kernel::TimestampMs(9), [1; 10]),
        0,
    );
    other.run_id = plenary_runs::id::RunId::mint(
        &plenary_kernel::Stamp::new(plenary_kernel::TimestampMs(9), [2; 10]),
        0,
    );
    let second = agent.pool().assign(&other, agent.wait).await.unwrap();
    assert_eq!(
        (first.number(), second.number()),
        (first_instance.instance.number, second_instance.instance.number)
    );
    drop(second);
    // The second one is idle, but the thread is at the first.
    let reassigned = agent.pool().assign(&home, agent.wait).await.unwrap();
    assert_eq!(reassigned.number(), first_instance.instance.number);
    agent.pool().detach(&first_instance.instance, false);
    assert_eq!(
        agent.pool().assign(&home, agent.wait).await.unwrap().number(),
        second_instance.instance.number
    );
}

#[tokio::test]
async fn who_vanishes_before_it_said_anything_leaves_its_run_to_the_next() {
    let agent = connected("1h");
    let mut first = TestInstance::to(&agent);
    let (running, mut receiver) = start(&agent, &request(&json!({"input": "hi"})));
    first.next_request().await;
    agent.pool().detach(&first.instance, false);
    let mut second = TestInstance::to(&agent);
    let next_request = second.next_request().await;
    second
        .send_frame(json!({"type": "TextOutput", "run_id": next_request["run_id"], "content": "half"}))
        .await;
    assert_eq!(receiver.event().await.as_ref().and_then(Event::content).as_deref(), Some("half"));
    agent.pool().detach(&second.instance, false);
    let error = running.await.unwrap().error.unwrap();
    assert!(error.contains("went away"), "{error}");
}

#[tokio::test]
async fn past_the_instances_that_are_tried_the_run_ends() {
    let agent = connected("1h");
    let (running, _receiver) = start(&agent, &request(&json!({"input": "hi"})));
    for _ in 0..INSTANCES_TRIED_MAX {
        let mut instance = TestInstance::to(&agent);
        instance.next_request().await;
        agent.pool().detach(&instance.instance, false);
    }
    let error = running.await.unwrap().error.unwrap();
    assert!(error.contains("before they said anything"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_an_instance_a_run_waits_for_one_and_then_ends() {
    let agent = connected("30s");
    let (running, _receiver) = start(&agent, &request(&json!({"input": "hi"})));
    let error = running.await.unwrap().error.unwrap();
    assert!(error.contains("no instance") && error.contains("30 s"), "{error}");
    let (running, receiver) = start(&agent, &request(&json!({"input": "hi"})));
    receiver.cancel();
    assert_eq!(running.await.unwrap(), RunEnd::canceled());
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_told_to_cancel_and_is_not_waited_for_longer_than_that() {
    let agent = connected("1h");
    let mut instance = TestInstance::to(&agent);
    let (running, receiver) = start(&agent, &request(&json!({"input": "hi"})));
    instance.next_request().await;
    receiver.cancel();
    assert_eq!(instance.next_request().await["type"], "CancelRequest");
    assert_eq!(running.await.unwrap(), RunEnd::canceled());
}

/// A connection that accepts nothing.
struct Stuck;

impl Sink<Message> for Stuck {
    type Error = Error;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Pending
    }

    fn start_send(self: Pin<&mut Self>, _: Message) -> Result<(), Error> {
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Pending
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_silent_stuck_or_past_its_limits_is_closed() {
    let agent = connected("1h");
    let instance = TestInstance::to(&agent).instance;
    let silent = pump::read_frames(stream::pending(), &instance, "tool").await;
    assert_eq!(silent, End::Close(1008, "no pong arrived in time"));
    let read_one = async |message: Message| {
        pump::read_frames(stream::iter([Ok(message)]).chain(stream::pending()), &instance, "tool").await
    };
    let too_long = read_one(Message::Text("x".repeat(FRAME_BYTES_MAX + 1).into())).await;
    assert_eq!(too_long, End::Close(1009, "the frame is too long"));
    let binary = read_one(Message::Binary(vec![1].into())).await;
    assert_eq!(binary, End::Close(1003, "send one JSON object in each text frame"));
    let (_frames, outgoing) = mpsc::channel(FRAMES_WAITING_MAX);
    assert!(matches!(pump::write_frames(Stuck, outgoing).await, End::Close(1013, _)));
}
