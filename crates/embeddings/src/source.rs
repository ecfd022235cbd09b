//! The embedding model in the settings: `local:DIR`, `static:DIR` or `openai:URL`.
//! Must not know: how a model works.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use http::Uri;
use percent_encoding::percent_decode_str;

use crate::{Embedder, Fault, Local, OpenAi, Static};

/// The environment variable with the key of an embeddings server.
pub const KEY_VARIABLE: &str = "PLENARY_EMBEDDINGS_API_KEY";

/// The setting that names a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `local:DIR`: a sentence-transformers directory.
    Local(PathBuf),
    /// `static:DIR`: a directory with one vector for each token.
    Static(PathBuf),
    /// `openai:URL?model=NAME`: an endpoint with the OpenAI API.
    OpenAi {
        /// `…/v1/embeddings`.
        endpoint: Uri,
        /// The name of the model on the server.
        model: String,
    },
}

impl Source {
    /// Loads the model. Reads files, so do not call it on a thread of the runtime.
    pub fn open(&self, key: Option<&str>) -> Result<Arc<dyn Embedder>, Fault> {
        match self {
            Self::Local(directory) => Ok(Arc::new(Local::open(directory)?)),
            Self::Static(directory) => Ok(Arc::new(Static::open(directory)?)),
            Self::OpenAi { endpoint, model } => Ok(Arc::new(OpenAi::new(endpoint, model, key)?)),
        }
    }
}

impl FromStr for Source {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text.split_once(':') {
            Some(("local", directory)) if !directory.is_empty() => Ok(Self::Local(directory.into())),
            Some(("static", directory)) if !directory.is_empty() => Ok(Self::Static(directory.into())),
            Some(("openai", url)) => {
                let Endpoint { endpoint, model } =
                    endpoint(url, "/embeddings", ("embeddings", KEY_VARIABLE))?;
                Ok(Self::OpenAi { endpoint, model })
            }
            _ => Err(Fault::Unusable(format!(
                "`{text}` names no model; write local:DIR, static:DIR or openai:URL?model=NAME"
            ))),
        }
    }
}

/// An endpoint, and the name of the model there.
pub(crate) struct Endpoint {
    pub(crate) endpoint: Uri,
    pub(crate) model: String,
}

/// Reads `URL?model=NAME`, and appends the path of the operation if the URL does not end with it.
pub(crate) fn endpoint(
    url: &str,
    operation: &str,
    (what, key_variable): (&str, &str),
) -> Result<Endpoint, Fault> {
    let wrong = |why: &str| Fault::Unusable(format!("the URL of the {what} {why}"));
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut model, mut others) = (None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("model", name)) if !name.is_empty() => {
                let name = percent_decode_str(name).decode_utf8();
                model = Some(name.map_err(|_| wrong("names a model that is no UTF-8"))?.into_owned());
            }
            _ => others.push(pair),
        }
    }
    let model = model.ok_or_else(|| wrong("names no model; put ?model=NAME behind it"))?;
    let address = address.trim_end_matches('/');
    let path = if address.ends_with(operation) { "" } else { operation };
    let rest = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    let endpoint: Uri =
        format!("{address}{path}{rest}").parse().map_err(|_| wrong("cannot be read as a URL"))?;
    if !matches!(endpoint.scheme_str(), Some("http" | "https")) || endpoint.host().is_none() {
        return Err(wrong("has to begin with http:// or https:// and a host"));
    }
    if endpoint.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong(&format!("may not carry a key; put it into {key_variable}")));
    }
    Ok(Endpoint { endpoint, model })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_ai(text: &str) -> (String, String) {
        match text.parse() {
            Ok(Source::OpenAi { endpoint, model }) => (endpoint.to_string(), model),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_source_is_a_directory_or_an_endpoint() {
        assert_eq!("local:models/x".parse(), Ok(Source::Local("models/x".into())));
        assert_eq!("static:models/x".parse(), Ok(Source::Static("models/x".into())));
        let expected = ("http://h:1/v1/embeddings".to_owned(), "a b".to_owned());
        assert_eq!(open_ai("openai:http://h:1/v1/embeddings?model=a%20b"), expected);
        assert_eq!(open_ai("openai:http://h:1/v1/?model=a%20b"), expected);
        let azure = open_ai("openai:https://h/embeddings?api-version=1&model=m");
        assert_eq!(azure, ("https://h/embeddings?api-version=1".to_owned(), "m".to_owned()));
    }

    #[test]
    fn an_invalid_model_name_is_refused_with_the_valid_forms() {
        for (text, hint) in [
            ("local:", "local:DIR"),
            ("static:", "static:DIR"),
            ("all-MiniLM-L6-v2", "local:DIR"),
            ("openai:http://h/v1", "?model=NAME"),
            ("openai:ftp://h/v1?model=m", "http://"),
            ("openai:http://k@h/v1?model=m", KEY_VARIABLE),
        ] {
            let fault = text.parse::<Source>().unwrap_err().to_string();
            assert!(fault.contains(hint), "{text}: {fault}");
        }
    }
}
