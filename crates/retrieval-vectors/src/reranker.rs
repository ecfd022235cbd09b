//! Calls a reranker only while it works, and with a time limit.
//! Must not know: the documents.

use std::sync::Arc;

use plenary_embeddings::{RERANK_TIME_MAX, Reranker};
use plenary_retrieval::{Answer, Fault, Relevance};
use tokio::time::timeout;

use crate::health::Health;

/// A reranker with its health.
pub struct Reranking {
    model: Arc<dyn Reranker>,
    health: Health,
}

impl Reranking {
    /// Does not call the model yet.
    pub fn new(model: Arc<dyn Reranker>) -> Self {
        Self { model, health: Health::default() }
    }

    async fn ask(&self, query: &str, texts: Vec<String>) -> Result<Vec<f64>, Fault> {
        let answered = timeout(RERANK_TIME_MAX, self.model.relevance(query.to_owned(), texts)).await;
        let done = match answered {
            Ok(done) => done.map_err(|fault| fault.to_string()),
            Err(_) => Err("it did not answer in time".to_owned()),
        };
        let is_news = self.health.note(done.is_ok());
        match &done {
            Ok(_) if is_news => tracing::info!(model = self.model.model(), "the reranker works"),
            Err(why) if is_news => {
                tracing::warn!(
                    model = self.model.model(),
                    why,
                    "the reranker does not work; rankings stay as they are"
                );
            }
            _ => {}
        }
        done.map_err(Fault::Unavailable)
    }
}

impl Relevance for Reranking {
    fn works(&self) -> bool {
        self.health.works() || self.health.may_try()
    }

    fn relevance<'a>(&'a self, query: &'a str, texts: Vec<String>) -> Answer<'a, Vec<f64>> {
        Box::pin(self.ask(query, texts))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use plenary_embeddings::Fault as ModelFault;

    use super::*;
    use crate::health::REST;

    /// Hangs when it is asked first; answers after that.
    #[derive(Default)]
    struct Slow(AtomicUsize);

    #[async_trait]
    impl Reranker for Slow {
        fn model(&self) -> &str {
            "slow"
        }
        async fn relevance(&self, _query: String, texts: Vec<String>) -> Result<Vec<f64>, ModelFault> {
            if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
                std::future::pending::<()>().await;
            }
            Ok(vec![0.5; texts.len()])
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reranker_that_takes_too_long_is_not_waited_for_and_has_its_rest() {
        let reranking = Reranking::new(Arc::new(Slow::default()));
        assert!(reranking.works());
        assert!(reranking.relevance("q", vec!["a".into()]).await.is_err());
        assert!(!reranking.works());
        tokio::time::advance(REST).await;
        assert!(reranking.works());
        assert_eq!(reranking.relevance("q", vec!["a".into(), "b".into()]).await, Ok(vec![0.5, 0.5]));
        assert!(reranking.works());
    }
}
