//! The parsing of bodies, and their errors.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    id::ThreadId,
    limits::{DEPTH_MAX, TITLE_CHARS_MAX},
    refusals::RunRefusal,
    request::{Ids, RunCommand, ThreadChoice, Wait, read, read_start},
};

const RUN: &str = "00000000-0007-7000-8000-000000000000";

fn read_request(
    body: &Value,
    ids: Ids<'_>,
    request_types: &[&str],
) -> Result<RunCommand, (u16, &'static str)> {
    let request_types: Vec<String> = request_types.iter().map(|kind| (*kind).to_owned()).collect();
    let status_and_code = |refused: RunRefusal| (refused.refusal.class.status(), refused.refusal.code);
    read(&Bytes::from(body.to_string()), ids, &request_types).map_err(status_and_code)
}

fn kind(body: &Value) -> Result<&'static str, (u16, &'static str)> {
    read_request(body, Ids::default(), &[]).map(|ask| match ask {
        RunCommand::Start { .. } => "start",
        RunCommand::Resume { .. } => "resume",
        RunCommand::Cancel { .. } => "cancel",
        RunCommand::Configure(_) => "configure",
    })
}

#[test]
fn sc_23_a_request_is_known_by_its_type_or_its_members() {
    for (body, expected) in [
        (json!({"input": "hi"}), "start"),
        (json!({"type": "ChatRequest", "input": ""}), "start"),
        (json!({"input": "hi", "thread_id": null, "run_id": RUN, "anything": [1]}), "start"),
        (json!({"request_keys": {}, "run_id": RUN}), "resume"),
        (json!({"type": "ResumeWithInput", "request_keys": {"a": 1}, "thread_id": RUN}), "resume"),
        (json!({"run_id": RUN}), "cancel"),
        (json!({"type": "CancelRequest", "thread_id": RUN}), "cancel"),
        (json!({"args": {}}), "configure"),
        (json!({"type": "ConfigureRequest", "args": {"a": null}}), "configure"),
    ] {
        assert_eq!(kind(&body), Ok(expected), "{body}");
    }
    let ids = Ids { run: Some(RUN), thread: None };
    assert!(matches!(read_request(&json!({}), ids, &[]), Ok(RunCommand::Cancel { run: Some(_), .. })));
}

#[test]
fn sc_27_an_unknown_type_is_refused_unless_the_agent_takes_it() {
    let body = json!({"type": "ChatWithFile", "file": "x"});
    assert_eq!(read_request(&body, Ids::default(), &[]).map(drop), Err((422, "unknown_request_type")));
    for request_types in ["ChatWithFile", "*"] {
        let Ok(RunCommand::Start { request, .. }) = read_request(&body, Ids::default(), &[request_types])
        else {
            panic!("a run")
        };
        assert_eq!(&*request.request_type, "ChatWithFile");
        assert_eq!(serde_json::from_slice::<Value>(&request.body).unwrap(), body, "kept whole");
    }
}

#[test]
fn each_invalid_member_has_its_code() {
    for (body, status, code) in [
        (json!([1]), 422, "invalid_body"),
        (json!({}), 422, "unknown_request_type"),
        (json!({"type": 1}), 422, "invalid_type"),
        (json!({"type": "chatrequest", "input": "x"}), 422, "unknown_request_type"),
        (json!({"type": "RunStarted", "input": "x"}), 422, "unknown_request_type"),
        (json!({"input": null}), 422, "unknown_request_type"),
        (json!({"input": 1}), 422, "invalid_input"),
        (json!({"type": "ChatRequest"}), 422, "invalid_input"),
        (json!({"input": "", "thread_id": 1}), 422, "invalid_thread_id"),
        (json!({"input": "", "thread_id": "nobody's"}), 404, "thread_not_found"),
        (json!({"input": "", "logging_level": 1}), 422, "invalid_logging_level"),
        (json!({"input": "", "request_metadata": "x"}), 422, "invalid_request_metadata"),
        (json!({"input": "", "run_context": []}), 422, "invalid_run_context"),
        (json!({"input": "", "depth": -1}), 422, "invalid_depth"),
        (json!({"input": "", "run_context": {"depth": DEPTH_MAX + 1}}), 422, "depth_exceeded"),
        (json!({"request_keys": [], "run_id": RUN}), 422, "invalid_request_keys"),
        (json!({"request_keys": {}}), 422, "missing_run_id"),
        (json!({"type": "CancelRequest"}), 422, "missing_run_id"),
        (json!({"run_id": 7}), 422, "invalid_run_id"),
        (json!({"run_id": "7"}), 404, "run_not_found"),
        (json!({"args": "x"}), 422, "invalid_args"),
    ] {
        assert_eq!(kind(&body), Err((status, code)), "{body}");
    }
}

#[test]
fn if_not_exists_create_opens_a_missing_thread_but_no_bound_one() {
    let choice = |body: Value| {
        let Ok(RunCommand::Start { thread, .. }) = read_request(&body, Ids::default(), &[]) else {
            panic!("a run")
        };
        thread
    };
    let thread = RUN.parse().unwrap();
    assert_eq!(choice(json!({"input": "", "if_not_exists": "create"})), ThreadChoice::New);
    for (rule, expected) in [
        (Value::Null, ThreadChoice::Existing(thread)),
        (json!("reject"), ThreadChoice::Existing(thread)),
        (json!("create"), ThreadChoice::Either(thread)),
    ] {
        assert_eq!(choice(json!({"input": "", "thread_id": RUN, "if_not_exists": rule})), expected);
    }
    let bound = ThreadId::bound_to("@acme.echo/sess_1");
    let body = json!({"input": "", "thread_id": bound.to_string(), "if_not_exists": "create"});
    assert_eq!(choice(body), ThreadChoice::Existing(bound));
    for bad in [json!("maybe"), json!(true)] {
        let body = json!({"input": "", "thread_id": RUN, "if_not_exists": bad});
        assert_eq!(kind(&body), Err((422, "invalid_if_not_exists")));
    }
}

#[test]
fn only_the_beginning_of_a_run_is_streamed() {
    let body = |body: Value| read_start(&Bytes::from(body.to_string()), Ids::default(), &[]);
    assert!(body(json!({"input": "hi"})).is_ok());
    assert_eq!(body(json!({"run_id": RUN})).unwrap_err().refusal.code, "invalid_type");
}

#[test]
fn a_title_is_the_first_line_cut_and_depth_is_told_either_way() {
    let begun = |body: Value| {
        let Ok(RunCommand::Start { request, .. }) = read_request(&body, Ids::default(), &[]) else {
            panic!("a run")
        };
        request
    };
    let long = "é".repeat(2 * TITLE_CHARS_MAX);
    let request = begun(json!({"input": format!("\n {long}\nmore"), "depth": 3}));
    assert_eq!(request.title.map(|title| title.chars().count()), Some(TITLE_CHARS_MAX));
    assert_eq!(request.depth, 3);
    let request = begun(json!({"input": " \n", "run_context": {"depth": 4}}));
    assert_eq!((request.title, request.depth), (None, 4));
}

#[test]
fn sc_35_wait_has_three_forms() {
    for (text, wait) in [
        (None, Wait::No),
        (Some("false"), Wait::No),
        (Some("True"), Wait::Started),
        (Some("1"), Wait::Started),
        (Some("result"), Wait::Result),
    ] {
        assert_eq!(Wait::read(text).unwrap(), wait);
    }
    assert_eq!(Wait::read(Some("later")).unwrap_err().refusal.code, "invalid_wait");
}
