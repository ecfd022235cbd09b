//! Rerankers: they score how well texts answer a query, with a model in this process or on a server.
//! Must not know: the source of the texts, or what is done with the order.

mod remote;

use std::{path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use async_trait::async_trait;
use http::Uri;

pub use remote::Remote;

use crate::{
    CrossEncoder, Fault,
    source::{Endpoint, endpoint},
};

/// The environment variable with the key of a reranking server.
pub const RERANK_KEY_VARIABLE: &str = "PLENARY_RERANK_API_KEY";
/// How long a search waits for the new order; then it keeps the old one.
pub const RERANK_TIME_MAX: Duration = Duration::from_secs(2);

/// A model that scores texts for a query.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Its name.
    fn model(&self) -> &str;

    /// How well each text answers the query, in the order of the texts; higher is better.
    async fn relevance(&self, query: String, texts: Vec<String>) -> Result<Vec<f64>, Fault>;
}

/// The setting that names a reranker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerankSource {
    /// `local:DIR`: the directory of a cross-encoder.
    Local(PathBuf),
    /// `openai:URL?model=NAME`: an endpoint `/rerank`.
    Remote {
        /// `…/rerank`.
        endpoint: Uri,
        /// The name of the model on the server.
        model: String,
    },
}

impl RerankSource {
    /// Loads the model. Reads files, so do not call it on a thread of the runtime.
    pub fn open(&self, key: Option<&str>) -> Result<Arc<dyn Reranker>, Fault> {
        match self {
            Self::Local(directory) => Ok(Arc::new(CrossEncoder::open(directory)?)),
            Self::Remote { endpoint, model } => Ok(Arc::new(Remote::new(endpoint, model, key)?)),
        }
    }
}

impl FromStr for RerankSource {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text.split_once(':') {
            Some(("local", directory)) if !directory.is_empty() => Ok(Self::Local(directory.into())),
            Some(("openai", url)) => {
                let Endpoint { endpoint, model } =
                    endpoint(url, "/rerank", ("reranker", RERANK_KEY_VARIABLE))?;
                Ok(Self::Remote { endpoint, model })
            }
            _ => Err(Fault::Unusable(format!(
                "`{text}` names no reranker; write local:DIR or openai:URL?model=NAME"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_directory_or_an_endpoint() {
        assert_eq!("local:models/x".parse(), Ok(RerankSource::Local("models/x".into())));
        for url in ["openai:http://h:1/v1?model=m", "openai:http://h:1/v1/rerank?model=m"] {
            let endpoint = Uri::from_static("http://h:1/v1/rerank");
            assert_eq!(url.parse(), Ok(RerankSource::Remote { endpoint, model: "m".into() }));
        }
        for (text, hint) in [
            ("local:", "local:DIR"),
            ("openai:http://h/v1", "?model=NAME"),
            ("openai:http://k@h/v1?model=m", RERANK_KEY_VARIABLE),
        ] {
            let fault = text.parse::<RerankSource>().unwrap_err().to_string();
            assert!(fault.contains(hint), "{text}: {fault}");
        }
    }
}
