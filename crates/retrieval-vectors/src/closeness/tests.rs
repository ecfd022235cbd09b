//! With a model whose tokens are words, each with a component of its own.
//! Must not know: any real model.

use super::*;

/// The words that it knows, one component each; any other is nothing.
const KNOWN: [&str; 4] = ["red", "door", "gate", "crimson"];

struct Tokens;

fn tokens(text: &str) -> Vec<Token> {
    let mut at = 0;
    let words = text.split_inclusive(' ').map(|word| {
        let begin = at;
        at += word.len();
        begin..begin + word.trim_end().len()
    });
    let token = |range: Range<usize>| {
        let mut vector = vec![0.0; KNOWN.len()];
        if let Some(nth) = KNOWN.iter().position(|known| text[range.clone()] == **known) {
            vector[nth] = 1.0;
        }
        Token { range, vector }
    };
    words.map(token).collect()
}

#[async_trait]
impl Embedder for Tokens {
    fn model(&self) -> &str {
        "tokens"
    }
    fn dimension(&self) -> Option<usize> {
        Some(KNOWN.len())
    }
    fn tokens_max(&self) -> Option<usize> {
        None
    }
    fn has_tokens(&self) -> bool {
        true
    }
    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        Ok(vec![vec![1.0; KNOWN.len()]; texts.len()])
    }
    async fn embed_tokens(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Embedded>, Fault> {
        let embedded = |text: &String| Embedded { vector: vec![1.0; KNOWN.len()], tokens: tokens(text) };
        Ok(texts.iter().map(embedded).collect())
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn scores(model: &Remembering, query: &str, documents: &[&[&str]]) -> Vec<Option<f64>> {
    let documents = documents.iter().map(|parts| texts(parts)).collect();
    model.closeness(query, |word| if word == "door" { 3.0 } else { 1.0 }, documents).await
}

#[tokio::test]
async fn the_words_of_a_query_are_compared_with_the_nearest_of_one_part() {
    let model = Remembering::new(Arc::new(Tokens), WORDS_BYTES_MAX);
    let parts = ["a red gate", "the door", "a red door", ""];
    model.embed(Purpose::Document, texts(&parts)).await.unwrap();
    assert_eq!(scores(&model, "red door", &[&parts[..1]]).await, [None], "the query is not known");
    model.embed(Purpose::Query, texts(&["red door"])).await.unwrap();
    let found =
        scores(&model, "red door", &[&parts[..1], &parts[1..2], &parts[..2], &parts[2..], &[""]]).await;
    let found: Vec<f64> = found.into_iter().map(|near| near.expect("it is known")).collect();
    for (found, expected) in found.iter().zip([0.25, 0.75, 0.75, 1.0, 0.0]) {
        assert!((found - expected).abs() < 0.01, "{found} is not {expected}");
    }
}

#[tokio::test]
async fn what_a_query_misses_is_embedded_after_it() {
    let model = Remembering::new(Arc::new(Tokens), WORDS_BYTES_MAX);
    model.embed(Purpose::Query, texts(&["red"])).await.unwrap();
    let many: Vec<String> = (0..MISSED_MAX + 9).map(|nth| format!("red {nth}")).collect();
    let documents = || many.iter().map(|text| vec![text.clone()]).collect();
    let found = model.closeness("red", |_| 1.0, documents()).await;
    assert!(found.iter().all(Option::is_none));
    while model.known.missed.lock().is_embedding {
        tokio::task::yield_now().await;
    }
    let found = model.closeness("red", |_| 1.0, documents()).await;
    assert_eq!(found.iter().flatten().count(), MISSED_MAX);
}

#[tokio::test]
async fn memory_and_work_have_a_limit() {
    let text_of = |count: usize| "red ".repeat(count);
    let model = Remembering::new(Arc::new(Tokens), 4_096);
    for nth in 0..100 {
        model.embed(Purpose::Document, vec![format!("door {nth}")]).await.unwrap();
        assert!(model.known.texts.lock().bytes <= 4_096);
        assert!(model.known.has("door 0") == (nth < 5) || model.known.words("door 0").is_some());
    }
    assert!(model.known.has("door 0"), "what is asked for stays");
    assert!(!model.known.has("door 1") && model.known.has("door 99"));
    let model = Remembering::new(Arc::new(Tokens), WORDS_BYTES_MAX);
    let (long, short) = (text_of(COMPARED_TOKENS_MAX), text_of(1));
    model.embed(Purpose::Document, vec![long.clone(), short.clone()]).await.unwrap();
    model.embed(Purpose::Query, texts(&["red"])).await.unwrap();
    let found = scores(&model, "red", &[&[&long], &[&short]]).await;
    assert!(found[0].is_some() && found[1].is_none(), "{found:?}");
    for nth in 0..=QUERIES_MAX {
        model.embed(Purpose::Query, vec![format!("red {nth}")]).await.unwrap();
    }
    assert!(model.known.query("red").is_none() && model.known.queries.lock().len() == QUERIES_MAX);
}

#[test]
fn tokens_of_a_word_have_its_name_and_stop_words_have_none() {
    let token = |range: Range<usize>| Token { range, vector: vec![1.0] };
    let text = "The Migrations, again";
    let tokens = [token(0..3), token(4..8), token(8..14), token(14..15), token(16..21)];
    let found: Vec<_> = telling(text, &tokens).map(|(word, token)| (word, token.range.start)).collect();
    assert_eq!(found, [("migrat".to_owned(), 4), ("migrat".to_owned(), 8)]);
}
