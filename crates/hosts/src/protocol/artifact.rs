//! An ArtifactGenerated with its content, which the room stores: `content_base64`, or `content` for text. One without
//! either has its own `url` and is passed on unchanged.
//! Must not know: where content is stored.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use plenary_runs::Event;
use serde::Deserialize;

#[derive(Deserialize)]
struct Artifact<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content_base64: Option<Cow<'a, str>>,
}

/// The artifact of a line, if it contains its content.
pub(super) fn read(line: &[u8]) -> Result<Option<Event>, Cow<'static, str>> {
    // Events of other kinds may have members of these names with other types.
    let Ok(artifact) = serde_json::from_slice::<Artifact<'_>>(line) else { return Ok(None) };
    if artifact.kind != "ArtifactGenerated" {
        return Ok(None);
    }
    let (content, otherwise) = match (artifact.content, artifact.content_base64) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err("it has both `content` and `content_base64`".into()),
        (Some(text), None) => (text.into_owned().into_bytes(), "text/plain; charset=utf-8"),
        (None, Some(bytes)) => {
            let bytes = STANDARD.decode(bytes.as_bytes()).map_err(|_| "`content_base64` is not base64")?;
            (bytes, "application/octet-stream")
        }
    };
    let name = artifact.name.filter(|name| !name.is_empty()).ok_or("`name` is missing")?;
    Ok(Some(Event::artifact(&name, artifact.mime_type.as_deref().unwrap_or(otherwise), content.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_47_content_comes_as_text_or_base64_and_one_of_both() {
        let read = |line: &str| read(line.as_bytes());
        let event = read(r#"{"type":"ArtifactGenerated","name":"a.bin","content_base64":"AP8="}"#);
        assert_eq!(event.unwrap().unwrap().artifact.unwrap().as_ref(), [0, 255]);
        let event =
            read(r#"{"type":"ArtifactGenerated","name":"a.md","mime_type":"text/markdown","content":"A."}"#);
        let event = event.unwrap().unwrap();
        assert_eq!(event.members()["mime_type"], "text/markdown");
        assert_eq!(event.artifact.unwrap().as_ref(), b"A.");
        let url = r#"{"type":"ArtifactGenerated","name":"a","url":"https://x.example/a","mime_type":"t/p"}"#;
        assert_eq!(read(url), Ok(None));
        assert_eq!(read(r#"{"type":"TextOutput","content":"x"}"#), Ok(None));
        for wrong in [
            r#"{"type":"ArtifactGenerated","name":"a","content_base64":"?"}"#,
            r#"{"type":"ArtifactGenerated","content":"a"}"#,
            r#"{"type":"ArtifactGenerated","name":"a","content":"a","content_base64":"AP8="}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
