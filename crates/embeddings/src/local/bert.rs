//! The BERT model: from token ids to one state for each token. One text at a time, without padding, so that a
//! text's
//! vector does not depend on its neighbours.
//! Must not know: tokenizers, pooling.

use serde::Deserialize;

use super::{
    functions::{gelu, normalise, relu, softmax},
    matrix::{PackedFactor, Rows},
    weights::Weights,
};

/// The content of `config.json`. Its `Debug` form is part of a model's name, so it must not change, or stored
/// vectors
/// are lost.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    #[expect(dead_code, reason = "part of the name")]
    hidden_dropout_prob: f64,
    pub(super) max_position_embeddings: usize,
    type_vocab_size: usize,
    #[expect(dead_code, reason = "part of the name")]
    initializer_range: f64,
    layer_norm_eps: f64,
    #[expect(dead_code, reason = "part of the name")]
    pad_token_id: usize,
    #[serde(default)]
    #[expect(dead_code, reason = "another way is refused when it is read")]
    position_embedding_type: Positions,
    #[serde(default)]
    #[expect(dead_code, reason = "part of the name")]
    use_cache: bool,
    #[expect(dead_code, reason = "part of the name")]
    classifier_dropout: Option<f64>,
    #[expect(dead_code, reason = "part of the name")]
    model_type: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Activation {
    Gelu,
    Relu,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Positions {
    #[default]
    Absolute,
}

impl Config {
    /// Checks that the sizes are consistent.
    pub(super) fn check(&self) -> Result<(), String> {
        let sizes = [
            self.vocab_size,
            self.hidden_size,
            self.num_hidden_layers,
            self.num_attention_heads,
            self.intermediate_size,
            self.type_vocab_size,
            self.max_position_embeddings,
        ];
        if sizes.contains(&0) || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err("its sizes do not fit each other".into());
        }
        Ok(())
    }
}

/// The model's weights.
pub(super) struct Bert {
    width: usize,
    heads: usize,
    activation: Activation,
    words: Vec<f32>,
    /// The embedding of each position, with that of the first segment added.
    positions: Vec<f32>,
    /// The embedding of each segment, minus that of the first.
    segments: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

struct Layer {
    /// Queries, keys and values side by side.
    attended: PackedFactor,
    joined: PackedFactor,
    joined_norm: Norm,
    inner: PackedFactor,
    outer: PackedFactor,
    outer_norm: Norm,
}

impl Bert {
    /// Reads the bytes of `model.safetensors`.
    pub(super) fn read(config: &Config, bytes: &[u8]) -> Result<Self, String> {
        let weights = Weights::read(bytes)?;
        let width = config.hidden_size;
        let mut positions =
            weights.matrix("embeddings.position_embeddings.weight", config.max_position_embeddings, width)?;
        let mut segments =
            weights.matrix("embeddings.token_type_embeddings.weight", config.type_vocab_size, width)?;
        let first = segments[..width].to_vec();
        for position in positions.chunks_exact_mut(width) {
            add(position, &first);
        }
        for segment in segments.chunks_exact_mut(width) {
            segment.iter_mut().zip(&first).for_each(|(more, first)| *more -= first);
        }
        Ok(Self {
            width,
            heads: config.num_attention_heads,
            activation: config.hidden_act,
            words: weights.matrix("embeddings.word_embeddings.weight", config.vocab_size, width)?,
            positions,
            segments,
            norm: Norm::read(&weights, "embeddings", config)?,
            layers: (0..config.num_hidden_layers)
                .map(|nth| Layer::read(&weights, &format!("encoder.layer.{nth}"), config))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Number of components of a state.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The last state of each token, concatenated; `segments` has the segment of each token.
    pub(super) fn states(&self, ids: &[u32], segments: &[u32]) -> Result<Vec<f32>, String> {
        let mut states = Vec::with_capacity(ids.len() * self.width);
        for (id, position) in ids.iter().zip(self.positions.chunks_exact(self.width)) {
            let word = usize::try_from(*id).ok().and_then(|id| self.words.chunks_exact(self.width).nth(id));
            let word = word.ok_or_else(|| format!("it has no token {id}"))?;
            states.extend(word.iter().zip(position).map(|(word, position)| word + position));
        }
        for (state, segment) in states.chunks_exact_mut(self.width).zip(segments).filter(|(_, nth)| **nth > 0)
        {
            let nth = usize::try_from(*segment).unwrap_or(usize::MAX);
            let more = self.segments.chunks_exact(self.width).nth(nth);
            add(state, more.ok_or_else(|| format!("it has no segment {segment}"))?);
        }
        self.norm.apply(&mut states);
        let mut room = Room::default();
        for layer in &self.layers {
            layer.apply(&mut states, self, &mut room);
        }
        Ok(states)
    }
}

impl Norm {
    fn read(weights: &Weights<'_>, name: &str, config: &Config) -> Result<Self, String> {
        // Old files use other names.
        let part = |names: [&str; 2]| {
            let names = names.map(|part| format!("{name}.LayerNorm.{part}"));
            let name = if weights.has(&names[1]) { &names[1] } else { &names[0] };
            weights.vector(name, config.hidden_size)
        };
        #[expect(clippy::cast_possible_truncation, reason = "states are floats too")]
        let epsilon = config.layer_norm_eps as f32;
        Ok(Self { weight: part(["weight", "gamma"])?, bias: part(["bias", "beta"])?, epsilon })
    }

    fn apply(&self, states: &mut [f32]) {
        normalise(states, &self.weight, &self.bias, self.epsilon);
    }
}

/// The buffers of a layer, reused by the next one.
#[derive(Default)]
struct Room {
    attended: Vec<f32>,
    keys: PackedFactor,
    values: PackedFactor,
    scores: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    sum: Vec<f32>,
}

impl Layer {
    fn read(weights: &Weights<'_>, name: &str, config: &Config) -> Result<Self, String> {
        let (width, inner) = (config.hidden_size, config.intermediate_size);
        let (mut all, mut biases) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            let name = format!("{name}.attention.self.{part}");
            all.extend(weights.matrix(&format!("{name}.weight"), width, width)?);
            biases.extend(weights.vector(&format!("{name}.bias"), width)?);
        }
        let linear = |part: &str, outputs, inputs| {
            let matrix = weights.matrix(&format!("{name}.{part}.weight"), outputs, inputs)?;
            Ok::<_, String>(PackedFactor::layer(
                &matrix,
                &weights.vector(&format!("{name}.{part}.bias"), outputs)?,
            ))
        };
        Ok(Self {
            attended: PackedFactor::layer(&all, &biases),
            joined: linear("attention.output.dense", width, width)?,
            joined_norm: Norm::read(weights, &format!("{name}.attention.output"), config)?,
            inner: linear("intermediate.dense", inner, width)?,
            outer: linear("output.dense", width, inner)?,
            outer_norm: Norm::read(weights, &format!("{name}.output"), config)?,
        })
    }

    fn apply(&self, states: &mut [f32], bert: &Bert, room: &mut Room) {
        multiply(&self.attended, states, bert.width, &mut room.attended);
        attend(bert, room);
        multiply(&self.joined, &room.context, bert.width, &mut room.sum);
        add(states, &room.sum);
        self.joined_norm.apply(states);
        multiply(&self.inner, states, bert.width, &mut room.inner);
        match bert.activation {
            Activation::Gelu => gelu(&mut room.inner),
            Activation::Relu => relu(&mut room.inner),
        }
        multiply(&self.outer, &room.inner, self.inner.width(), &mut room.sum);
        add(states, &room.sum);
        self.outer_norm.apply(states);
    }
}

/// For each token the sum of the values, weighted by the similarity of their keys to its query; separately for
/// each head.
fn attend(bert: &Bert, room: &mut Room) {
    let (width, stride) = (bert.width, 3 * bert.width);
    let (count, head) = (room.attended.len() / stride, width / bert.heads);
    #[expect(clippy::cast_precision_loss, reason = "a head has few components")]
    let scale = 1.0 / (head as f32).sqrt();
    room.context.resize(count * width, 0.0);
    room.scores.resize(count * count, 0.0);
    for first in (0..width).step_by(head) {
        let part = |nth: usize| Rows { numbers: &room.attended[nth * width + first..], stride, count };
        room.keys.transposed(part(1), head);
        room.values.rows(part(2), head);
        room.keys.multiply(part(0), &mut room.scores, count);
        softmax(&mut room.scores, count, scale);
        let scores = Rows { numbers: &room.scores, stride: count, count };
        room.values.multiply(scores, &mut room.context[first..], width);
    }
}

fn multiply(right: &PackedFactor, left: &[f32], stride: usize, out: &mut Vec<f32>) {
    let count = left.len() / stride;
    out.resize(count * right.width(), 0.0);
    right.multiply(Rows { numbers: left, stride, count }, out, right.width());
}

fn add(to: &mut [f32], more: &[f32]) {
    for (to, more) in to.iter_mut().zip(more) {
        *to += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors are kept under the model's name, so how a configuration is printed is a stored form.
    #[test]
    fn a_configuration_is_printed_as_ever() {
        let text = r#"{"vocab_size":30522,"hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,
            "intermediate_size":1536,"hidden_act":"gelu","hidden_dropout_prob":0.1,"max_position_embeddings":512,
            "type_vocab_size":2,"initializer_range":0.02,"layer_norm_eps":1e-12,"pad_token_id":0,
            "position_embedding_type":"absolute","use_cache":true,"model_type":"bert","other":1}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!(
            format!("{config:?}"),
            "Config { vocab_size: 30522, hidden_size: 384, num_hidden_layers: 6, num_attention_heads: 12, \
             intermediate_size: 1536, hidden_act: Gelu, hidden_dropout_prob: 0.1, max_position_embeddings: 512, \
             type_vocab_size: 2, initializer_range: 0.02, layer_norm_eps: 1e-12, pad_token_id: 0, \
             position_embedding_type: Absolute, use_cache: true, classifier_dropout: None, \
             model_type: Some(\"bert\") }"
        );
        assert_eq!(config.check(), Ok(()));
        for (right, wrong) in [("\"num_attention_heads\":12", "\"num_attention_heads\":7"), ("30522", "0")] {
            let config: Config = serde_json::from_str(&text.replace(right, wrong)).unwrap();
            assert!(config.check().is_err());
        }
        assert!(serde_json::from_str::<Config>(&text.replace("absolute", "relative_key")).is_err());
    }
}
