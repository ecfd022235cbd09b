//! A cross-encoder and a static model that the test makes. The expected numbers of the cross-encoder were computed by another
//! program from the same formula of weights.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeMap, path::Path};

use plenary_embeddings::{CrossEncoder, Embedder, Fault, Purpose, Reranker, Static};
use safetensors::{Dtype, tensor::TensorView};
use serde_json::json;

const WIDTH: usize = 8;
const INNER: usize = 16;
const LAYERS: usize = 2;
const PLACES: usize = 32;
const WORDS: [&str; 10] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "door", "blue", "gate", "is", "the"];

/// What another program made of these weights: of two texts for one query, and the other way round.
const WANTED: [f64; 3] = [0.52720218, 0.52775221, 0.52665601];

/// Weights that no training made: each tensor has its own wave.
#[derive(Default)]
struct Waves {
    tensors: BTreeMap<String, (Vec<usize>, Vec<u8>)>,
    seed: f64,
}

impl Waves {
    fn add(&mut self, name: &str, shape: &[usize], more: f64) {
        self.seed += 1.0;
        let count = u32::try_from(shape.iter().product::<usize>()).unwrap();
        let number = |nth: u32| {
            let wave = (1.37 * f64::from(nth) * (1.0 + 0.1 * self.seed) + self.seed).sin() * 0.6 + more;
            #[expect(clippy::cast_possible_truncation, reason = "weights are single floats")]
            (wave as f32).to_le_bytes()
        };
        let numbers = (0..count).flat_map(number).collect();
        self.tensors.insert(name.to_owned(), (shape.to_vec(), numbers));
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize) {
        self.add(&format!("{name}.weight"), &[outputs, inputs], 0.0);
        self.add(&format!("{name}.bias"), &[outputs], 0.0);
    }

    fn norm(&mut self, name: &str) {
        self.add(&format!("{name}.LayerNorm.weight"), &[WIDTH], 1.0);
        self.add(&format!("{name}.LayerNorm.bias"), &[WIDTH], 0.0);
    }

    fn write(&self, path: &Path) {
        let views = self.tensors.iter().map(|(name, (shape, numbers))| {
            (name.clone(), TensorView::new(Dtype::F32, shape.clone(), numbers).unwrap())
        });
        std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
    }
}

fn tokenizer() -> String {
    let vocabulary: BTreeMap<&str, usize> =
        WORDS.iter().enumerate().map(|(nth, word)| (*word, nth)).collect();
    let special = |name: &str, segment: usize| json!({"SpecialToken": {"id": name, "type_id": segment}});
    let sequence = |name: &str, segment: usize| json!({"Sequence": {"id": name, "type_id": segment}});
    let template = json!({
        "type": "TemplateProcessing",
        "single": [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)],
        "pair": [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0), sequence("B", 1), special("[SEP]", 1)],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
        },
    });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": template, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
    .to_string()
}

fn encoder(labels: usize) -> tempfile::TempDir {
    let mut waves = Waves::default();
    waves.add("bert.embeddings.word_embeddings.weight", &[WORDS.len(), WIDTH], 0.0);
    waves.add("bert.embeddings.position_embeddings.weight", &[PLACES, WIDTH], 0.0);
    waves.add("bert.embeddings.token_type_embeddings.weight", &[2, WIDTH], 0.0);
    waves.norm("bert.embeddings");
    for layer in 0..LAYERS {
        let name = |part: &str| format!("bert.encoder.layer.{layer}.{part}");
        for part in ["query", "key", "value"] {
            waves.linear(&name(&format!("attention.self.{part}")), WIDTH, WIDTH);
        }
        waves.linear(&name("attention.output.dense"), WIDTH, WIDTH);
        waves.norm(&name("attention.output"));
        waves.linear(&name("intermediate.dense"), INNER, WIDTH);
        waves.linear(&name("output.dense"), WIDTH, INNER);
        waves.norm(&name("output"));
    }
    waves.linear("bert.pooler.dense", WIDTH, WIDTH);
    waves.linear("classifier", labels, WIDTH);
    let directory = tempfile::tempdir().unwrap();
    waves.write(&directory.path().join("model.safetensors"));
    let config = json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": 2, "intermediate_size": INNER, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": PLACES, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0,
    });
    std::fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    std::fs::write(directory.path().join("tokenizer.json"), tokenizer()).unwrap();
    directory
}

async fn relevance(model: &CrossEncoder, query: &str, texts: &[&str]) -> Vec<f64> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    model.relevance(query.to_owned(), texts).await.unwrap()
}

#[tokio::test]
async fn a_query_and_a_text_are_read_together() {
    let directory = encoder(1);
    let model = CrossEncoder::open(directory.path()).unwrap();
    let found = relevance(&model, "red door", &["the door is red", "blue gate"]).await;
    let turned = relevance(&model, "blue gate", &["red door"]).await;
    for (found, expected) in [(found[0], WANTED[0]), (found[1], WANTED[1]), (turned[0], WANTED[2])] {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
    let long = "red ".repeat(10_000);
    assert!(relevance(&model, &long, &[&long]).await[0].is_finite());
    assert!(relevance(&model, "red", &[]).await.is_empty());
}

#[test]
fn a_directory_without_a_cross_encoder_is_refused_with_a_reason() {
    for (labels, expected) in [(1, None), (2, None), (3, Some("its head has 3 labels"))] {
        let directory = encoder(labels);
        match (CrossEncoder::open(directory.path()), expected) {
            (Ok(_), None) => {}
            (Err(Fault::Unusable(why)), Some(expected)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let directory = encoder(1);
    std::fs::remove_file(directory.path().join("config.json")).unwrap();
    let why = CrossEncoder::open(directory.path()).unwrap_err().to_string();
    assert!(why.contains("config.json is missing"), "{why}");
}

fn fixed(name: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut waves = Waves::default();
    waves.add(name, &[WORDS.len(), 4], 0.0);
    waves.write(&directory.path().join("model.safetensors"));
    std::fs::write(directory.path().join("tokenizer.json"), tokenizer()).unwrap();
    directory
}

#[tokio::test]
async fn a_static_model_gives_the_mean_of_a_texts_tokens() {
    for name in ["embeddings", "embedding.weight"] {
        let directory = fixed(name);
        let model = Static::open(directory.path()).unwrap();
        assert_eq!((model.dimension(), model.model().starts_with("static:")), (Some(4), true));
        let texts = ["red door", "door red", "red red", "red", ""].map(str::to_owned).to_vec();
        let found = model.embed(Purpose::Document, texts).await.unwrap();
        assert_eq!((&found[0], &found[2]), (&found[1], &found[3]), "order and number do not count");
        assert_eq!(found[4], [0.0; 4]);
        let length: f32 = found[0].iter().map(|part| part * part).sum();
        assert!((length - 1.0).abs() < 1e-5 && found[0] != found[3]);
    }
    let why = Static::open(fixed("other").path()).unwrap_err().to_string();
    assert!(why.contains("it has no matrix"), "{why}");
    let why = Static::open(Path::new("/nowhere")).unwrap_err().to_string();
    assert!(why.contains("model.safetensors is missing"), "{why}");
}
