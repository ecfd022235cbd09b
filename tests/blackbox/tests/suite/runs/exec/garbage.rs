//! Programs that do not speak the protocol well: D.8 (a line that is no event is logged and ignored; stderr is drained
//! and is never an event).

use serde_json::json;

use crate::runs::speak::{Gates, PUPPET, chat, finish, outcome, playing, said, types, whole};

/// Bytes as the script's `hex` takes them.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lines that are no events leave no trace in the run, and end nothing.
#[tokio::test]
async fn sc_24_lines_that_are_no_events_are_ignored() {
    let (_server, nick) = playing().await;
    for line in [
        "hello",
        "",
        "   ",
        "{",
        "[]",
        "null",
        "5",
        "\"TextOutput\"",
        "{}",
        r#"{"type":null}"#,
        r#"{"type":5}"#,
        r#"{"type":"Unheard"}"#,
        r#"{"type":"textoutput","content":"x"}"#,
        r#"{"type":"TextOutput"}"#,
        r#"{"type":"TextOutput","content":5}"#,
        r#"{"type":"TextOutput","content":null}"#,
        r#"{"type":"TextOutput","content":"a"} {"type":"TextOutput","content":"b"}"#,
        r#"{"type":"TextOutput","content":"x","content":"y"}"#,
        r#"{"type":"TextOutput","content":"x","n":1e400}"#,
        r#"{"type":"TextOutput","content":"x","n":"\ud800"}"#,
        r#"{"type":"TextOutput","content":"x","i":12345678901234567890,"n":1e400}"#,
        r#"{"type":"ToolCall","function_name":"f","args":"x"}"#,
        r#"{"type":"WaitForInput"}"#,
        r#"{"type":"WaitForInput","request_keys":[]}"#,
        r#"{"type":"ChatRequest","input":"x"}"#,
        r#"data: {"type":"TextOutput","content":"x"}"#,
    ] {
        let events = outcome(&nick, PUPPET, &format!("text a\nline {line}\ntext b\ndone ok")).await;
        assert_eq!(
            types(&events),
            ["RunStarted", "TextOutput", "TextOutput", "RunCompleted"],
            "{line}: {events:?}"
        );
        assert_eq!((said(&events), finish(&events)), (vec!["a", "b"], "success"), "{line}");
    }
}

#[tokio::test]
async fn sc_24_bytes_that_are_no_text_are_ignored() {
    let (_server, nick) = playing().await;
    let lines: [&[u8]; 5] = [
        b"{\"type\":\"TextOutput\",\"content\":\"\xff\xfe\"}\n",
        b"\xff\n",
        b"\0\0\0\n",
        b"{\"type\":\"TextOutput\",\"content\":\"a\0b\"}\n",
        b"\xef\xbb\xbf\n",
    ];
    for line in lines {
        let events = outcome(&nick, PUPPET, &format!("text a\nhex {}\ntext b\ndone ok", hex(line))).await;
        assert_eq!((said(&events), finish(&events)), (vec!["a", "b"], "success"), "{line:?}");
    }
}

/// A line may come in pieces, and several lines at once; CR before LF is white space of JSON.
#[tokio::test]
async fn sc_24_lines_come_in_pieces() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let event = json!({"type": "TextOutput", "content": "tor\u{e9}n"}).to_string();
    let at = event.find('\u{e9}').expect("it is there") + 1;
    let (head, tail) = event.as_bytes().split_at(at);
    let two = format!("{event}\r\n{event}\n");
    let script = format!(
        "hex {}\n{}{}hex {}0a\nhex {}\ndone ok",
        hex(head),
        gates.mark("half"),
        gates.gate("go"),
        hex(tail),
        hex(two.as_bytes())
    );
    let run = chat(&nick, PUPPET, &script).await;
    gates.reached("half").await;
    gates.open("go");
    let events = whole(&nick, &run).await;
    assert_eq!(said(&events), ["tor\u{e9}n"; 3]);
}

/// A line past any limit is dropped to its end, and the one after it is read.
#[tokio::test]
async fn sc_24_a_huge_line_is_dropped() {
    let (server, nick) = playing().await;
    assert_eq!(said(&outcome(&nick, PUPPET, "huge 500000\ndone ok").await)[0].len(), 500_000);
    let before = server.resident_kib();
    let events = outcome(&nick, PUPPET, "huge 50000000\ntext b\ndone ok").await;
    assert_eq!(said(&events).last(), Some(&"b"), "{:?}", types(&events));
    assert_eq!(finish(&events), "success");
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 40 * 1024, "50 MB of one line cost {grown} KiB");
}

/// stderr is drained and never an event.
#[tokio::test]
async fn sc_24_stderr_is_no_event() {
    let (mut server, nick) = playing().await;
    let event = json!({"type": "TextOutput", "content": "from stderr"});
    let before = server.resident_kib();
    let script = format!("err {event}\nerrflood 20000\nerr {event}\ntext a\ndone ok");
    let events = outcome(&nick, PUPPET, &script).await;
    assert_eq!((said(&events), finish(&events)), (vec!["a"], "success"), "20 MB of it block nothing");
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 40 * 1024, "20 MB of stderr cost {grown} KiB");
    server.stop().await;
    assert!(server.log_text().len() < 5_000_000, "and do not fill the server's log");
}

/// D.8: what comes after RunCompleted is dropped.
#[tokio::test]
async fn sc_19_nothing_comes_after_the_end() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "text a\ndone ok\ntext late\nfinish error\nask a=A?").await;
    let events = whole(&nick, &run).await;
    assert_eq!((said(&events), finish(&events)), (vec!["a"], "success"));
    let again = crate::runs::speak::chat_on(&nick, &run, "text next\ndone ok").await;
    assert_eq!(said(&whole(&nick, &again).await), ["next"], "and is not of the next run");
    assert_eq!(whole(&nick, &run).await, events);
}

/// SC-22: whatever a strict reader of JSON reads may stand in an event, large integers too.
#[tokio::test]
async fn sc_22_members_of_its_own_are_handed_on() {
    let (_server, nick) = playing().await;
    let line = r#"{"type":"TextOutput","content":"a","big":12345678901234567,"deep":[{"x":1e300}]}"#;
    let events = outcome(&nick, PUPPET, &format!("line {line}\ndone ok")).await;
    assert_eq!(events[1]["big"], 12_345_678_901_234_567_u64, "{events:?}");
    assert_eq!(events[1]["deep"], json!([{"x": 1e300}]), "{events:?}");
}

/// SC-26: an end that can't be read is none, and the run's error says why it was not.
#[tokio::test]
async fn sc_26_why_an_end_was_none_is_told() {
    let (_server, nick) = playing().await;
    for (end, why) in
        [(r#"{"type":"RunCompleted","finish_reason":"success","n":1e400}"#, "beyond the range of a double")]
    {
        let events = outcome(&nick, PUPPET, &format!("line hello\nline {end}\nexit 0")).await;
        let error = events.last().expect("an end")["error"].as_str().unwrap_or_default();
        assert_eq!(finish(&events), "error");
        assert!(error.contains("2 lines") && error.contains(why), "{error}");
    }
}

/// SC-14, SC-26: an end is the end, also where its reason is none or its result no text.
#[tokio::test]
async fn sc_26_an_odd_end_ends_the_run() {
    let (_server, nick) = playing().await;
    for (members, reason, result, error) in [
        (r#""finish_reason":"done""#, "error", json!(null), "finish_reason \"done\", which is not success"),
        (r#""finish_reason":7,"error":"no credit""#, "error", json!(null), "it said: no credit"),
        (r#""result":"x""#, "error", json!("x"), "no finish_reason"),
        (r#""finish_reason":"success","result":7"#, "success", json!("7"), ""),
        (r#""finish_reason":"success","result":{"a":[1]}"#, "success", json!("{\"a\":[1]}"), ""),
        (r#""finish_reason":"error","error":{"code":3}"#, "error", json!(null), "{\"code\":3}"),
    ] {
        // The program goes on: nothing else ends the run.
        let line = format!(r#"{{"type":"RunCompleted",{members}}}"#);
        let events = outcome(&nick, PUPPET, &format!("line {line}\nhang")).await;
        let end = events.last().expect("an end");
        assert_eq!((finish(&events), &end["result"]), (reason, &result), "{line}");
        assert!(end["error"].as_str().unwrap_or_default().contains(error), "{line}: {end}");
    }
}

/// SC-24, SC-47: what is kept elsewhere has an id and stands in an object, whatever its maker said.
#[tokio::test]
async fn sc_24_sc_47_an_artifact_that_is_kept_elsewhere_has_an_id() {
    let (_server, nick) = playing().await;
    let url = "https://files.example/a";
    for (said, id) in [
        (r#""artifact_id":"mine""#, Some("mine")),
        (r#""id":"old""#, Some("old")),
        (r#""artifact_id":"mine","id":"old""#, Some("mine")),
        (r#""x":1"#, None),
    ] {
        let line = format!(
            r#"{{"type":"ArtifactGenerated","name":"a","url":"{url}","mime_type":"text/plain",{said}}}"#
        );
        let events = outcome(&nick, PUPPET, &format!("line {line}\nline {line}\ndone ok")).await;
        for event in &events[1..3] {
            let artifact = &event["artifact"];
            assert!(event["id"].is_u64(), "the event keeps its own: {event}");
            let told = event["artifact_id"].as_str().unwrap_or_default();
            assert!(id.is_none_or(|id| id == told) && !told.is_empty(), "{event}");
            let whole = json!({"id": told, "name": "a", "url": url, "mime_type": "text/plain"});
            assert_eq!(*artifact, whole, "{event}");
        }
        let own = |at: usize| events[at]["artifact_id"].clone();
        assert_eq!(own(1) == own(2), id.is_some(), "made twice, it is two unless its maker says otherwise");
    }
}

/// An event that is larger than one may be ends the run: left out, it would be missing in what the run came to.
#[tokio::test]
async fn sc_24_an_event_past_its_limit_is_not_left_out_in_silence() {
    let (_server, nick) = playing().await;
    let events = outcome(&nick, PUPPET, "text a\nhuge 2000000\ntext b\ndone ok").await;
    assert_eq!((said(&events), finish(&events)), (vec!["a"], "error"));
    let error = events.last().expect("an end")["error"].as_str().unwrap_or_default();
    assert!(error.contains("1048576"), "{error}");
}
