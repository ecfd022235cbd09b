//! The content of a message, from arguments, files and standard input.
//! Must not know: the destination of the message.

use std::path::PathBuf;

use clap::Args;
use plenary_client::{
    Client,
    sessions::{Content, InitialMessage, Part},
};
use serde_json::{Map, Value};

use super::file::uploaded;
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

/// The same, with the text as an option, for commands with other arguments first.
#[derive(Debug, Default, Args)]
pub(crate) struct MessageArgs {
    /// The first message; `-` reads it from standard input
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    message: Option<String>,
    #[command(flatten)]
    rest: PartArgs,
}

/// Additions to a text.
#[derive(Debug, Default, Args)]
struct PartArgs {
    /// Read the text from a file; one line break at its end is dropped, as it is from standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Attach a file: a path is uploaded, a URL is sent as a link; may be repeated
    #[arg(long, value_name = "PATH or URL")]
    attach: Vec<String>,
    /// Add an image by its URL; may be repeated
    #[arg(long, value_name = "URL")]
    image: Vec<String>,
    /// Add a JSON object; may be repeated
    #[arg(long, value_name = "JSON", value_parser = input::object)]
    data: Vec<Object>,
    /// Add metadata, a JSON object
    #[arg(long, value_name = "JSON", value_parser = input::object)]
    metadata: Option<Object>,
}

pub(crate) fn no_content() -> Failure {
    Failure::usage(
        "the message is empty",
        "give a TEXT, `-` for standard input, --file, --attach, --image or --data",
    )
}

impl ContentArgs {
    /// The content and its metadata; `None` if there is neither text nor part.
    pub(crate) async fn read(self, client: &Client) -> Result<Option<(Content, Option<Object>)>, Failure> {
        self.rest.read(self.text.as_deref(), client).await
    }
}

impl MessageArgs {
    /// The first message of a session, if given.
    pub(crate) async fn read(self, client: &Client) -> Result<Option<InitialMessage>, Failure> {
        let had_metadata = self.rest.metadata.is_some();
        match self.rest.read(self.message.as_deref(), client).await? {
            Some((content, metadata)) => Ok(Some(InitialMessage { content, metadata })),
            None if had_metadata => Err(no_content()),
            None => Ok(None),
        }
    }
}

impl PartArgs {
    /// Uploads files only after everything else is valid.
    async fn read(
        self,
        text: Option<&str>,
        client: &Client,
    ) -> Result<Option<(Content, Option<Object>)>, Failure> {
        let is_url = |attached: &String| attached.contains("://");
        let (urls, paths): (Vec<String>, Vec<String>) = self.attach.iter().cloned().partition(is_url);
        let others = self.others(text, urls)?;
        let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
        Ok(others.with(uploaded(client, &paths).await?))
    }

    /// The draft without the uploaded files.
    fn others(self, text: Option<&str>, urls: Vec<String>) -> Result<MessageDraft, Failure> {
        let text = match (text, &self.file) {
            (Some("-"), _) => Some(input::standard()?),
            (_, Some(path)) => Some(input::file(path)?),
            (Some(text), None) => Some(text.to_owned()),
            (None, None) => None,
        };
        if text.as_ref().is_some_and(String::is_empty) {
            return Err(no_content());
        }
        let images = self.image.into_iter().map(|url| Part::Image {
            url: Some(url),
            data_uri: None,
            file_id: None,
            mime_type: None,
            name: None,
            size: None,
        });
        let files = urls.into_iter().map(|url| Part::File {
            url: Some(url),
            file_id: None,
            name: None,
            mime_type: None,
            size: None,
        });
        let data = self.data.into_iter().map(|data| Part::Data { data });
        let (before_files, after_files) = (images.chain(files).collect(), data.collect());
        Ok(MessageDraft { text, before_files, after_files, metadata: self.metadata })
    }
}

/// A message without the files that are uploaded for it.
struct MessageDraft {
    text: Option<String>,
    before_files: Vec<Part>,
    after_files: Vec<Part>,
    metadata: Option<Object>,
}

impl MessageDraft {
    /// The content and its metadata; `None` if there is neither text nor part.
    fn with(self, uploaded: Vec<Part>) -> Option<(Content, Option<Object>)> {
        let Self { text, before_files, after_files, metadata } = self;
        let mut parts: Vec<Part> = before_files.into_iter().chain(uploaded).chain(after_files).collect();
        let content = match (text, parts.is_empty()) {
            (None, true) => return None,
            (Some(text), true) => Content::Text(text),
            (text, false) => {
                if let Some(text) = text {
                    parts.insert(0, Part::Text { text });
                }
                Content::Parts(parts)
            }
        };
        Some((content, metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: Option<&str>, rest: PartArgs) -> Value {
        let urls = rest.attach.clone();
        let gathered = rest.others(text, urls).unwrap();
        serde_json::to_value(gathered.with(Vec::new()).unwrap().0).unwrap()
    }

    #[test]
    fn asp_37_text_alone_stays_text_and_asp_38_parts_keep_their_order() {
        assert_eq!(read(Some("hi"), PartArgs::default()), "hi");
        let rest = PartArgs {
            attach: vec!["https://x/f".into()],
            image: vec!["https://x/i".into()],
            data: vec![input::object("{\"a\":1}").unwrap()],
            ..PartArgs::default()
        };
        let parts = read(Some("see"), rest);
        let kinds: Vec<&str> =
            parts.as_array().unwrap().iter().map(|p| p["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["text", "image", "file", "data"]);
    }

    #[test]
    fn no_content_is_none_and_an_empty_text_is_an_error() {
        assert!(PartArgs::default().others(None, Vec::new()).unwrap().with(Vec::new()).is_none());
        assert!(matches!(PartArgs::default().others(Some(""), Vec::new()), Err(Failure::Usage { .. })));
    }
}
