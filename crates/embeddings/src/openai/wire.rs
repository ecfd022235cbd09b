//! The two messages of OpenAI's embeddings API.
//! Must not know: HTTP.

use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// The body of a request. These servers refuse an empty text, so it is sent as a blank.
pub(super) fn question(model: &str, texts: &[String]) -> Vec<u8> {
    let input = texts.iter().map(|text| if text.is_empty() { " " } else { text.as_str() }).collect();
    serde_json::to_vec(&Question { model, input, encoding_format: "float" })
        .expect("strings and lists of them have a JSON form")
}

/// The vectors of a response in the order of the texts, or what is wrong with it.
pub(super) fn answer(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| "answered something that is no list of embeddings")?;
    let mut vectors = vec![Vec::new(); count];
    for item in answer.data {
        let vector = vectors.get_mut(item.index).ok_or("answered for a text that it was not asked for")?;
        *vector = item.embedding;
    }
    if vectors.iter().any(Vec::is_empty) {
        return Err("did not answer for every text".into());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1.5]}],"usage":{}}"#;
        assert_eq!(answer(body, 2), Ok(vec![vec![1.5], vec![2.0]]));
    }

    #[test]
    fn an_answer_that_does_not_fit_is_named() {
        for (body, why) in [
            ("{}", "no list"),
            (r#"{"data":[{"index":0,"embedding":[1]}]}"#, "every text"),
            (r#"{"data":[{"index":2,"embedding":[1]}]}"#, "not asked for"),
        ] {
            let text = answer(body.as_bytes(), 2).unwrap_err();
            assert!(text.contains(why), "{text}");
        }
    }

    #[test]
    fn a_question_is_what_the_published_interface_takes() {
        let body = question("m", &["a".into(), String::new()]);
        assert_eq!(body, br#"{"model":"m","input":["a"," "],"encoding_format":"float"}"#);
    }
}
