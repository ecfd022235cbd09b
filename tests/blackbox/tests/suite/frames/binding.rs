//! FO-32, FO-38 to FO-40: the eight slots of a decision request. Must not know: other payloads.

use serde_json::{Value, json};

use super::lab::Lab;
use super::probes::octets;
use super::speak::Field;

const KIND: &str = "agent_binding_moment";

/// How a question is spoiled.
type Change = fn(&mut Value);

/// A frame whose question was changed.
fn changed(lab: &Lab, change: impl FnOnce(&mut Value)) -> Value {
    let mut frame = lab.frame(KIND, true);
    change(&mut frame["payload"]["question"]);
    frame
}

fn option(label: &str) -> Value {
    json!({"label": label, "reasoning": "because"})
}

async fn invalid(lab: &Lab, path: &str, change: impl FnOnce(&mut Value)) {
    let frame = changed(lab, change);
    let what = format!("{:.200}", frame["payload"]["question"]);
    lab.refuses(&what, &frame, "field-invalid", Field::At(path)).await;
}

#[tokio::test]
async fn fo_32_texts_of_the_question() {
    let mut lab = Lab::new().await;
    for size in [1, 2_047, 2_048] {
        for text in [octets(size), "x".repeat(size)] {
            lab.takes("a stem", changed(&lab, |question| question["stem"] = json!(text))).await;
            for name in ["label", "reasoning"] {
                let frame = changed(&lab, |question| question["options"][1][name] = json!(text));
                lab.takes(name, frame).await;
            }
        }
    }
    let bad = [json!(""), json!(octets(2_049)), json!(1), json!(null), json!([]), json!({}), json!(true)];
    for value in bad {
        invalid(&lab, "payload.question.stem", |question| question["stem"] = value.clone()).await;
        for name in ["label", "reasoning"] {
            let path = format!("payload.question.options[1].{name}");
            invalid(&lab, &path, |question| question["options"][1][name] = value.clone()).await;
        }
    }
    lab.finish().await;
}

/// "a one-line reasoning".
#[tokio::test]
async fn fo_32_reasoning_is_one_line() {
    let lab = Lab::new().await;
    for text in ["two\nlines", "two\r\nlines", "\n"] {
        let path = "payload.question.options[0].reasoning";
        invalid(&lab, path, |question| question["options"][0]["reasoning"] = json!(text)).await;
    }
    lab.finish().await;
}

/// FO-39: two to four options.
#[tokio::test]
async fn fo_39_two_to_four_options() {
    let mut lab = Lab::new().await;
    for count in 2..=4 {
        let options: Vec<_> = (0..count).map(|number| option(&format!("option {number}"))).collect();
        lab.takes("options", changed(&lab, |question| question["options"] = json!(options))).await;
    }
    for count in [0, 1, 5, 64] {
        let options: Vec<_> = (0..count).map(|number| option(&format!("option {number}"))).collect();
        invalid(&lab, "payload.question.options", |question| question["options"] = json!(options)).await;
    }
    for value in [json!(null), json!("this"), json!({}), json!(2)] {
        invalid(&lab, "payload.question.options", |question| question["options"] = value).await;
    }
    for value in [json!(null), json!("this"), json!([]), json!(2)] {
        invalid(&lab, "payload.question.options[1]", |question| question["options"][1] = value).await;
    }
    lab.finish().await;
}

/// FO-39: `recommended_idx` names exactly one option, counted from 0.
#[tokio::test]
async fn fo_39_the_recommended_option() {
    let mut lab = Lab::new().await;
    for count in 2..=4_i64 {
        let with = |index: Value| {
            let options: Vec<_> = (0..count).map(|number| option(&format!("option {number}"))).collect();
            move |question: &mut Value| {
                question["options"] = json!(options);
                question["recommended_idx"] = index;
            }
        };
        for index in 0..count {
            lab.takes("an index", changed(&lab, with(json!(index)))).await;
        }
        let beyond = [json!(-1), json!(count), json!(count + 1), json!(1_000_000)];
        let wrong = [json!("0"), json!(0.5), json!(null), json!([0]), json!(true), json!({})];
        for value in beyond.into_iter().chain(wrong) {
            invalid(&lab, "payload.question.recommended_idx", with(value)).await;
        }
    }
    lab.finish().await;
}

/// FO-38, FO-40: a way out is left. What is absent is true, and is not written into the frame.
#[tokio::test]
async fn fo_38_hatches() {
    let mut lab = Lab::new().await;
    for hatches in [
        json!({}),
        json!({"free_text": true}),
        json!({"dialogue": true}),
        json!({"free_text": false}),
        json!({"dialogue": false}),
        json!({"free_text": true, "dialogue": true}),
        json!({"free_text": true, "dialogue": false}),
        json!({"free_text": false, "dialogue": true}),
    ] {
        lab.takes("hatches", changed(&lab, |question| question["hatches"] = hatches)).await;
    }
    lab.takes("no hatches", lab.frame(KIND, true)).await;
    invalid(&lab, "payload.question.hatches", |question| {
        question["hatches"] = json!({"free_text": false, "dialogue": false});
    })
    .await;
    for value in [json!(null), json!([]), json!(true), json!("open"), json!(1)] {
        invalid(&lab, "payload.question.hatches", |question| question["hatches"] = value).await;
    }
    for name in ["free_text", "dialogue"] {
        for value in [json!(null), json!(1), json!("true"), json!([])] {
            let path = format!("payload.question.hatches.{name}");
            invalid(&lab, &path, |question| question["hatches"] = json!({ name: value })).await;
        }
    }
    lab.finish().await;
}

/// FO-3, FO-5: each level is closed and complete.
#[tokio::test]
async fn fo_32_every_level_is_closed_and_complete() {
    let lab = Lab::new().await;
    for name in ["stem", "options", "recommended_idx"] {
        let frame = changed(&lab, |question| {
            question.as_object_mut().expect("an object").remove(name);
        });
        let path = format!("payload.question.{name}");
        lab.refuses(name, &frame, "field-missing", Field::At(&path)).await;
    }
    for name in ["label", "reasoning"] {
        let frame = changed(&lab, |question| {
            question["options"][1].as_object_mut().expect("an object").remove(name);
        });
        let path = format!("payload.question.options[1].{name}");
        lab.refuses(name, &frame, "field-missing", Field::At(&path)).await;
    }
    let unknown: [(&str, Change); 3] = [
        ("payload.question.x_unknown", |question| question["x_unknown"] = json!(1)),
        ("payload.question.options[0].x_unknown", |question| question["options"][0]["x_unknown"] = json!(1)),
        ("payload.question.hatches.x_unknown", |question| question["hatches"] = json!({"x_unknown": true})),
    ];
    for (path, change) in unknown {
        lab.refuses(path, &changed(&lab, change), "field-unknown", Field::At(path)).await;
    }
    lab.finish().await;
}
