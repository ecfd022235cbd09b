//! What a message says, gathered from arguments, files and standard input.
//! Must not know: where the message goes.

use std::path::PathBuf;

use clap::Args;
use plenary_wire::sessions::{Content, InitialMessage, Part};
use serde_json::{Map, Value};

use crate::cli::{failure::Failure, input};

type Object = Map<String, Value>;

/// The parts of a message. Text alone is sent as text; with anything else, as parts in this order.
#[derive(Debug, Default, Args)]
pub(crate) struct ContentArgs {
    /// The text; `-` reads it from standard input
    #[arg(conflicts_with = "file")]
    text: Option<String>,
    #[command(flatten)]
    rest: PartArgs,
}

/// The same where the text is an option, because other arguments stand first.
#[derive(Debug, Default, Args)]
pub(crate) struct MessageArgs {
    /// Begin with this message; `-` reads it from standard input
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    message: Option<String>,
    #[command(flatten)]
    rest: PartArgs,
}

/// What may accompany a text.
#[derive(Debug, Default, Args)]
struct PartArgs {
    /// Read the text from a file; one line break at its end is dropped, as it is from standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Attach a file by its address; may be repeated
    #[arg(long, value_name = "URL")]
    attach: Vec<String>,
    /// Show an image by its address; may be repeated
    #[arg(long, value_name = "URL")]
    image: Vec<String>,
    /// Add a JSON object; may be repeated
    #[arg(long, value_name = "JSON", value_parser = object)]
    data: Vec<Object>,
    /// Add metadata, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Object>,
}

fn object(text: &str) -> Result<Object, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it must be a JSON object, e.g. {\"a\":1}".into()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

pub(crate) fn nothing_to_say() -> Failure {
    Failure::usage(
        "the message is empty",
        "give a text, `-` for standard input, --file, --attach, --image or --data",
    )
}

impl ContentArgs {
    /// The content and its metadata; nothing when there is neither text nor part.
    pub(crate) fn read(self) -> Result<Option<(Content, Option<Object>)>, Failure> {
        self.rest.read(self.text.as_deref())
    }
}

impl MessageArgs {
    /// The first message of a session, where one was given.
    pub(crate) fn read(self) -> Result<Option<InitialMessage>, Failure> {
        let had_metadata = self.rest.metadata.is_some();
        match self.rest.read(self.message.as_deref())? {
            Some((content, metadata)) => Ok(Some(InitialMessage { content, metadata })),
            None if had_metadata => Err(nothing_to_say()),
            None => Ok(None),
        }
    }
}

impl PartArgs {
    fn read(self, text: Option<&str>) -> Result<Option<(Content, Option<Object>)>, Failure> {
        let text = match (text, &self.file) {
            (Some("-"), _) => Some(input::standard()?),
            (_, Some(path)) => Some(input::file(path)?),
            (Some(text), None) => Some(text.to_owned()),
            (None, None) => None,
        };
        if text.as_ref().is_some_and(String::is_empty) {
            return Err(nothing_to_say());
        }
        let images = self.image.into_iter().map(|url| Part::Image {
            url: Some(url),
            data_uri: None,
            mime_type: None,
            name: None,
        });
        let files =
            self.attach.into_iter().map(|url| Part::File { url, name: None, mime_type: None, size: None });
        let data = self.data.into_iter().map(|data| Part::Data { data });
        let mut parts: Vec<Part> = images.chain(files).chain(data).collect();
        let content = match (text, parts.is_empty()) {
            (None, true) => return Ok(None),
            (Some(text), true) => Content::Text(text),
            (text, false) => {
                if let Some(text) = text {
                    parts.insert(0, Part::Text { text });
                }
                Content::Parts(parts)
            }
        };
        Ok(Some((content, self.metadata)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: Option<&str>, rest: PartArgs) -> Value {
        let args = ContentArgs { text: text.map(str::to_owned), rest };
        serde_json::to_value(args.read().unwrap().unwrap().0).unwrap()
    }

    #[test]
    fn asp_37_text_alone_stays_text_and_asp_38_parts_keep_their_order() {
        assert_eq!(read(Some("hi"), PartArgs::default()), "hi");
        let rest = PartArgs {
            attach: vec!["https://x/f".into()],
            image: vec!["https://x/i".into()],
            data: vec![object("{\"a\":1}").unwrap()],
            ..PartArgs::default()
        };
        let parts = read(Some("see"), rest);
        let kinds: Vec<&str> =
            parts.as_array().unwrap().iter().map(|p| p["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["text", "image", "file", "data"]);
    }

    #[test]
    fn nothing_is_nothing_and_an_empty_text_is_a_mistake() {
        assert!(ContentArgs::default().read().unwrap().is_none());
        let empty = ContentArgs { text: Some(String::new()), ..ContentArgs::default() };
        assert!(matches!(empty.read(), Err(Failure::Usage { .. })));
        assert!(object("[1]").is_err() && object("{").is_err());
    }
}
