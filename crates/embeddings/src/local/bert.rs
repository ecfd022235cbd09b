//! The model itself, by candle: from the ids of tokens to one state for each of them. One text at a time, without
//! padding, so that a text's vector does not depend on its neighbours.
//! Must not know: tokenizers, pooling.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::BertModel;
pub(super) use candle_transformers::models::bert::Config;

/// The model's weights.
pub(super) struct Bert {
    model: BertModel,
    width: usize,
}

/// Whether its sizes fit each other.
pub(super) fn check(config: &Config) -> std::result::Result<(), String> {
    let sizes = [
        config.vocab_size,
        config.hidden_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.intermediate_size,
        config.type_vocab_size,
        config.max_position_embeddings,
    ];
    if sizes.contains(&0) || !config.hidden_size.is_multiple_of(config.num_attention_heads) {
        return Err("its sizes do not fit each other".into());
    }
    Ok(())
}

impl Bert {
    /// From the octets of `model.safetensors`; halves become whole floats.
    pub(super) fn read(config: &Config, weights: Vec<u8>) -> Result<Self> {
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        Ok(Self { model: BertModel::load(weights, config)?, width: config.hidden_size })
    }

    /// Components of a state.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The last state of each token, one behind the other.
    pub(super) fn states(&self, ids: &[u32]) -> Result<Vec<f32>> {
        let ids = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
        let states = self.model.forward(&ids, &ids.zeros_like()?, None)?;
        states.flatten_all()?.to_vec1()
    }
}
