//! The content of a sentence-transformers directory, and the supported models.
//! Must not know: numbers.

use std::path::Path;

use serde::{Deserialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use super::bert::Config;
use crate::{Fault, Purpose};

/// Largest file that is read; the largest model of this kind has 2.3 GB.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// Most tokens of a text, whatever the model allows, because attention is quadratic in them.
const TOKENS_MAX: usize = 512;

/// How the token states are combined into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolingMode {
    Mean,
    First,
}

/// The prefixes of texts.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    query: String,
    document: String,
}

impl Prompts {
    pub(super) fn of(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Document => &self.document,
            Purpose::Query => &self.query,
        }
    }
}

/// Everything but the weights.
pub(super) struct Recipe {
    pub(super) config: Config,
    pub(super) tokenizer: Vec<u8>,
    pub(super) pooling: PoolingMode,
    pub(super) prompts: Prompts,
    pub(super) tokens_max: usize,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KindFile {
    model_type: String,
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
    path: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PoolingFile {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SentenceFile {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptsFile {
    prompts: std::collections::BTreeMap<String, String>,
}

impl Recipe {
    pub(super) fn read(directory: &Path) -> Result<Self, Fault> {
        if !directory.is_dir() {
            return Err(foreign(directory, "there is no such directory"));
        }
        let modules: Vec<Module> = json(directory, "modules.json", &read(directory, "modules.json")?)?;
        let mut pooling = None;
        for module in &modules {
            match module.kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" if module.path.is_empty() => {}
                "Normalize" => {}
                "Pooling" => {
                    let name = format!("{}/config.json", module.path);
                    pooling =
                        Some(pooling_of(directory, &json(directory, &name, &read(directory, &name)?)?)?);
                }
                _ => return Err(foreign(directory, &format!("its module {} is not supported", module.kind))),
            }
        }
        let bytes = read(directory, "config.json")?;
        let kind: KindFile = json(directory, "config.json", &bytes)?;
        if kind.model_type != "bert" {
            let why = format!("config.json: its model_type is `{}`, only bert is run here", kind.model_type);
            return Err(foreign(directory, &why));
        }
        let config: Config = json(directory, "config.json", &bytes)?;
        config.check().map_err(|why| foreign(directory, &format!("config.json: {why}")))?;
        let sentence: SentenceFile = optional(directory, "sentence_bert_config.json")?;
        let prompts: PromptsFile = optional(directory, "config_sentence_transformers.json")?;
        let prompt = |names: &[&str]| {
            names.iter().find_map(|name| prompts.prompts.get(*name)).cloned().unwrap_or_default()
        };
        Ok(Self {
            tokens_max: sentence
                .max_seq_length
                .unwrap_or(TOKENS_MAX)
                .min(config.max_position_embeddings)
                .clamp(3, TOKENS_MAX),
            config,
            tokenizer: read(directory, "tokenizer.json")?,
            pooling: pooling.ok_or_else(|| foreign(directory, "modules.json names no pooling"))?,
            prompts: Prompts { query: prompt(&["query"]), document: prompt(&["document", "passage"]) },
        })
    }

    /// The directory's name, with a digest of everything that the vectors depend on.
    pub(super) fn name(&self, directory: &Path, weights: &[u8]) -> String {
        let rest = format!("{:?} {:?} {:?} {}", self.config, self.pooling, self.prompts, self.tokens_max);
        let mut digest = Sha256::new();
        for part in [weights, &self.tokenizer, rest.as_bytes()] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        let named = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let name = named.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        format!("local:{name}@{}", &hex::encode(digest.finalize())[..16])
    }
}

fn pooling_of(directory: &Path, file: &PoolingFile) -> Result<PoolingMode, Fault> {
    let others = [
        file.pooling_mode_max_tokens,
        file.pooling_mode_mean_sqrt_len_tokens,
        file.pooling_mode_weightedmean_tokens,
        file.pooling_mode_lasttoken,
    ];
    match (file.pooling_mode_mean_tokens, file.pooling_mode_cls_token) {
        (true, false) if !others.contains(&true) => Ok(PoolingMode::Mean),
        (false, true) if !others.contains(&true) => Ok(PoolingMode::First),
        _ => Err(foreign(directory, "its pooling is neither the mean nor the first token")),
    }
}

/// Reads a file of the directory.
pub(super) fn read(directory: &Path, name: &str) -> Result<Vec<u8>, Fault> {
    let path = directory.join(name);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_file() && found.len() <= FILE_BYTES_MAX => {}
        Ok(_) => return Err(foreign(directory, &format!("{name} is no file, or larger than 4 GiB"))),
        Err(_) => return Err(foreign(directory, &format!("{name} is missing"))),
    }
    std::fs::read(&path).map_err(|error| foreign(directory, &format!("{name} cannot be read: {error}")))
}

fn optional<T: DeserializeOwned + Default>(directory: &Path, name: &str) -> Result<T, Fault> {
    if !directory.join(name).exists() {
        return Ok(T::default());
    }
    json(directory, name, &read(directory, name)?)
}

fn json<T: DeserializeOwned>(directory: &Path, name: &str, bytes: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes).map_err(|error| foreign(directory, &format!("{name}: {error}")))
}

/// A fault that says what is wrong with a directory, and what is required.
pub(super) fn foreign(directory: &Path, why: &str) -> Fault {
    Fault::Unusable(format!(
        "the model directory {} cannot be used: {why}. It has to be a sentence-transformers directory of a BERT model, \
         such as all-MiniLM-L6-v2, with modules.json, config.json, tokenizer.json and model.safetensors",
        directory.display()
    ))
}
