//! A prompt of the editor as one text, because an agent of the network reads text. Pure.
//! Must not know: the reader.

use serde_json::Value;

use super::fault::Fault;

/// The text of the blocks of a prompt.
///
/// # Errors
/// When a block has a type that was not offered, or the prompt is empty.
pub(super) fn text(prompt: &Value) -> Result<String, Fault> {
    let blocks = prompt.as_array().ok_or_else(|| Fault::params("`prompt` must be a list of blocks"))?;
    let texts = blocks.iter().map(block).collect::<Result<Vec<String>, Fault>>()?;
    let text = joined(&texts);
    if text.trim().is_empty() { Err(Fault::params("the prompt is empty")) } else { Ok(text) }
}

/// A mention is inline, within its sentence; a longer text is a paragraph of its own.
fn joined(texts: &[String]) -> String {
    let mut whole = String::new();
    for text in texts {
        let is_apart = text.starts_with("```") || whole.ends_with("```");
        if is_apart && !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(text);
    }
    whole
}

fn block(block: &Value) -> Result<String, Fault> {
    let member = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => Ok(member(&block["text"])),
        Some("resource_link") => Ok(format!("[{}]({})", member(&block["name"]), member(&block["uri"]))),
        Some("resource") => {
            let resource = &block["resource"];
            let uri = member(&resource["uri"]);
            let text = resource["text"].as_str();
            let text = text.ok_or_else(|| Fault::params(format!("{uri} is not text; send a link to it")))?;
            Ok(format!("{fence} {uri}\n{text}\n{fence}", fence = fence(text)))
        }
        Some(kind) => Err(Fault::params(format!("this agent reads text and links, no {kind}"))),
        None => Err(Fault::params("a block of the prompt has no type")),
    }
}

/// A fence longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_become_one_text_with_their_mentions_in_place() {
        let prompt = json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///a.rs"},
            {"type": "text", "text": " and"},
            {"type": "resource", "resource": {"uri": "file:///b.md", "text": "```sh\nls\n```"}},
            {"type": "text", "text": "please"},
        ]);
        let expected = "Look at [a.rs](file:///a.rs) and\n```` file:///b.md\n```sh\nls\n```\n````\nplease";
        assert_eq!(text(&prompt).unwrap(), expected);
    }

    #[test]
    fn what_was_not_offered_is_refused_with_its_name() {
        for (prompt, expected) in [
            (json!("hi"), "list"),
            (json!([]), "empty"),
            (json!([{"type": "text", "text": " "}]), "empty"),
            (json!([{"text": "x"}]), "type"),
            (json!([{"type": "image", "data": "", "mimeType": "image/png"}]), "no image"),
            (json!([{"type": "resource", "resource": {"uri": "u", "blob": ""}}]), "u is not text"),
        ] {
            let fault = text(&prompt).unwrap_err();
            assert!(fault.text.contains(expected), "{fault:?}");
        }
    }
}
