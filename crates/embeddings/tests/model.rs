//! The model of the tests, run here and by the Python package that it comes from: `golden.json` holds components that
//! sentence-transformers 6.2.0 computed.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and says what it passes over"
)]

use std::path::PathBuf;

use plenary_embeddings::{Embedder, Fault, Local, Purpose};
use serde::Deserialize;

/// The directory of all-MiniLM-L6-v2, fetched by `cargo xtask test`.
const MODEL: &str = "PLENARY_TEST_MODEL";
const REQUIRE: &str = "PLENARY_TEST_REQUIRE";
/// How far a component may be from the reference.
const TOLERANCE: f32 = 1e-4;

fn model() -> Option<Local> {
    let Some(directory) = std::env::var_os(MODEL).filter(|directory| !directory.is_empty()) else {
        assert!(std::env::var(REQUIRE).as_deref() != Ok("all"), "{MODEL} has to name the model's directory");
        eprintln!("passed over: {MODEL} names no model");
        return None;
    };
    Some(Local::open(&PathBuf::from(directory)).unwrap())
}

#[derive(Deserialize)]
struct Golden {
    text: String,
    first: Vec<f32>,
    last: Vec<f32>,
}

fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

fn far(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

#[tokio::test]
async fn vectors_are_those_of_the_reference() {
    let Some(model) = model() else { return };
    assert_eq!((model.dimension(), model.tokens_max()), (Some(384), Some(256)));
    let texts: Vec<_> = golden().iter().map(|golden| golden.text.clone()).collect();
    let vectors = model.embed(Purpose::Document, texts).await.unwrap();
    for (golden, vector) in golden().iter().zip(&vectors) {
        let difference = far(&golden.first, &vector[..6]).max(far(&golden.last, &vector[vector.len() - 6..]));
        assert!(difference < TOLERANCE, "{:.40}: off by {difference}", golden.text);
        let length: f32 = vector.iter().map(|part| part * part).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[tokio::test]
async fn the_vector_of_a_text_does_not_depend_on_other_texts() {
    let Some(model) = model() else { return };
    let texts: Vec<_> = golden().iter().map(|golden| golden.text.clone()).collect();
    let together = model.embed(Purpose::Document, texts.clone()).await.unwrap();
    for (text, vector) in texts.into_iter().zip(together) {
        assert_eq!(model.embed(Purpose::Document, vec![text]).await.unwrap(), [vector]);
    }
}

#[tokio::test]
async fn text_after_the_last_counted_token_does_not_count() {
    let Some(model) = model() else { return };
    let long = "one two three ".repeat(200);
    let vectors = vec![long.clone(), format!("{long} and something else entirely"), "word ".repeat(1 << 20)];
    let vectors = model.embed(Purpose::Document, vectors).await.unwrap();
    assert_eq!(vectors[0], vectors[1]);
    assert_eq!(vectors[2].len(), 384);
}

#[tokio::test]
async fn similar_texts_are_near_and_others_are_far() {
    let Some(model) = model() else { return };
    let texts = ["How do I change my password?", "Resetting account credentials", "A recipe for lentil soup"];
    let vectors = model.embed(Purpose::Query, texts.map(str::to_owned).to_vec()).await.unwrap();
    let near = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum::<f32>();
    assert!(near(0, 1) > near(0, 2) + 0.3, "{} {}", near(0, 1), near(0, 2));
}

fn refused(change: impl FnOnce(&std::path::Path)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let modules = r#"[{"type":"sentence_transformers.models.Transformer","path":""},
        {"type":"sentence_transformers.models.Pooling","path":"1_Pooling"}]"#;
    write("modules.json", modules);
    std::fs::create_dir(directory.path().join("1_Pooling")).unwrap();
    write("1_Pooling/config.json", r#"{"pooling_mode_mean_tokens":true}"#);
    write(
        "config.json",
        r#"{"model_type":"bert","vocab_size":1,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,
            "intermediate_size":8,"hidden_act":"gelu","max_position_embeddings":8,"type_vocab_size":1,
            "layer_norm_eps":1e-12,"hidden_dropout_prob":0,"initializer_range":0,"pad_token_id":0}"#,
    );
    write("tokenizer.json", "{}");
    change(directory.path());
    match Local::open(directory.path()) {
        Err(Fault::Unusable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_without_a_model_is_refused_with_what_is_missing() {
    let replace = |name: &'static str, text: &'static str| {
        move |directory: &std::path::Path| std::fs::write(directory.join(name), text).unwrap()
    };
    let pooling = "1_Pooling/config.json";
    for (text, expected) in [
        (refused(|directory| std::fs::remove_dir_all(directory).unwrap()), "no such directory"),
        (
            refused(|directory| std::fs::remove_file(directory.join("modules.json")).unwrap()),
            "modules.json is missing",
        ),
        (refused(|_| ()), "model.safetensors is missing"),
        (refused(replace("model.safetensors", "no")), "model.safetensors: "),
        (refused(replace("config.json", r#"{"model_type":"mpnet"}"#)), "only bert is run"),
        (refused(replace("modules.json", r#"[{"type":"x.Dense","path":"2"}]"#)), "x.Dense is not supported"),
        (refused(replace("modules.json", "[]")), "names no pooling"),
        (refused(replace(pooling, r#"{"pooling_mode_max_tokens":true}"#)), "neither the mean nor"),
    ] {
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("sentence-transformers directory of a BERT model"), "{text}");
    }
}
