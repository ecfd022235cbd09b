//! A server with an endpoint `/rerank`, as Cohere, Jina, Voyage, vLLM and others offer it. Without retries: a
//! search has no
//! time for them.
//! Must not know: the source of the texts.

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use plenary_outward::{Pool, client_config, deepest, within};
use serde::{Deserialize, Serialize};

use super::{RERANK_KEY_VARIABLE, Reranker};
use crate::Fault;

/// Largest response that is read; some servers repeat the texts in it.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A client of the server.
pub struct Remote {
    pool: Pool,
    endpoint: Uri,
    /// The model's name in this program.
    model: String,
    /// The model's name on the server.
    served_model: String,
    key: Option<HeaderValue>,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    query: &'a str,
    documents: &'a [String],
    top_n: usize,
    return_documents: bool,
}

/// The list of results, alone or as a member.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Results { results: Vec<Item> },
    Data { data: Vec<Item> },
    List(Vec<Item>),
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f64,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Remote {
    /// Sends no request yet.
    pub fn new(endpoint: &Uri, model: &str, key: Option<&str>) -> Result<Self, Fault> {
        let tls = client_config(endpoint.scheme_str() == Some("https"), None, "in SSL_CERT_FILE");
        let tls = tls.map_err(|fault| Fault::Unusable(fault.to_string()))?;
        let key = key.filter(|key| !key.is_empty()).map(|key| {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| Fault::Unusable(format!("{RERANK_KEY_VARIABLE} cannot stand in a header")))?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Self {
            pool: Pool::new(tls),
            model: format!("openai:{}/{model}", endpoint.authority().map_or("", |host| host.as_str())),
            endpoint: endpoint.clone(),
            served_model: model.to_owned(),
            key: key.transpose()?,
        })
    }

    fn fault(&self, what: &str) -> Fault {
        let host = self.endpoint.authority().map_or("", |host| host.as_str());
        Fault::Unavailable(format!("the reranker {host} {what}"))
    }
}

#[async_trait]
impl Reranker for Remote {
    fn model(&self) -> &str {
        &self.model
    }

    async fn relevance(&self, query: String, texts: Vec<String>) -> Result<Vec<f64>, Fault> {
        let question = Question {
            model: &self.served_model,
            query: &query,
            documents: &texts,
            top_n: texts.len(),
            return_documents: false,
        };
        let body = serde_json::to_vec(&question).expect("strings and lists of them have a JSON form");
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(header::AUTHORIZATION, key.clone());
        }
        let response = self.pool.send(request).await;
        let response =
            response.map_err(|why| self.fault(&format!("cannot be reached: {}", deepest(&why))))?;
        if !response.status().is_success() {
            return Err(self.fault(&format!("answered {}", response.status())));
        }
        let body = within(response.into_body(), ANSWER_BYTES_MAX).await;
        let body = body.map_err(|why| self.fault(&format!("broke its answer off: {why}")))?;
        answer(&body, texts.len()).map_err(|why| self.fault(why))
    }
}

/// The scores of a response in the order of the texts, or what is wrong with it.
fn answer(body: &[u8], count: usize) -> Result<Vec<f64>, &'static str> {
    let answer = serde_json::from_slice(body).map_err(|_| "answered something that is no list of scores")?;
    let (Answer::Results { results: items } | Answer::Data { data: items } | Answer::List(items)) = answer;
    let mut scores = vec![None; count];
    for item in items {
        let score = scores.get_mut(item.index).ok_or("answered for a text that it was not asked for")?;
        *score = Some(item.relevance_score).filter(|score| score.is_finite());
    }
    let mut scores: Vec<f64> =
        scores.into_iter().collect::<Option<_>>().ok_or("did not answer for every text")?;
    // Some servers return logits; the logistic function maps them to 0 to 1.
    if scores.iter().any(|score| !(0.0..=1.0).contains(score)) {
        scores.iter_mut().for_each(|score| *score = 1.0 / (1.0 + (-*score).exp()));
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_come_in_the_order_of_the_texts_in_every_known_form() {
        for body in [
            r#"{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.5}],"meta":{}}"#,
            r#"{"data":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.5}]}"#,
            r#"[{"index":1,"score":0.9},{"index":0,"score":0.5}]"#,
        ] {
            assert_eq!(answer(body.as_bytes(), 2), Ok(vec![0.5, 0.9]), "{body}");
        }
    }

    #[test]
    fn logits_become_scores_between_0_and_1() {
        let body = br#"[{"index":0,"score":-800},{"index":1,"score":0},{"index":2,"score":800}]"#;
        assert_eq!(answer(body, 3), Ok(vec![0.0, 0.5, 1.0]));
    }

    #[test]
    fn an_answer_that_does_not_fit_is_named() {
        for (body, why) in [
            ("{}", "no list"),
            (r#"{"results":[{"index":0,"relevance_score":1}]}"#, "every text"),
            (r#"{"results":[{"index":2,"relevance_score":1}]}"#, "not asked for"),
        ] {
            let text = answer(body.as_bytes(), 2).unwrap_err();
            assert!(text.contains(why), "{text}");
        }
    }
}
