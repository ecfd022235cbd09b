//! A live run in the form of the dashboards: each event of the stream is translated as it passes.
//! Must not know: the reading of the run.

use std::sync::Arc;

use bytes::Bytes;
use plenary_log::Fault;
use plenary_room::sse::{KEEPALIVE, Pieces};
use serde_json::Value;

use super::dialect::{DashboardEvent, Dialect};

/// The form in which an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A JSON object, for pages.
    Json,
    /// Text, for people.
    Text,
}

/// The translated stream of a run.
pub(crate) struct TranslatedStream<P> {
    pub(crate) pieces: P,
    pub(crate) agent: Arc<str>,
    pub(crate) dialect: Dialect,
    pub(crate) shape: Shape,
    /// An event before all others.
    pub(crate) first_event: Option<DashboardEvent>,
}

impl<P: Pieces> Pieces for TranslatedStream<P> {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let mut out = String::new();
        if let Some(event) = self.first_event.take() {
            self.write(&event, &mut out);
        }
        while out.is_empty() {
            if self.dialect.is_over {
                return Ok(None);
            }
            let Some(piece) = self.pieces.next().await? else { return Ok(None) };
            // A piece consists of whole events, and the JSON of each is on one line.
            for block in String::from_utf8_lossy(&piece).split("\n\n") {
                self.translate_block(block, &mut out);
                if self.dialect.is_over {
                    break;
                }
            }
        }
        Ok(Some(out.into()))
    }
}

impl<P> TranslatedStream<P> {
    fn translate_block(&mut self, block: &str, out: &mut String) {
        let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        if block.starts_with(':') {
            out.push_str(KEEPALIVE);
        }
        let (Some(kind), Some(data)) = (line("event: "), line("data: ")) else { return };
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        for event in self.dialect.translate(kind, &event) {
            self.write(&event, out);
        }
    }

    fn write(&self, event: &DashboardEvent, out: &mut String) {
        match self.shape {
            Shape::Json => out.push_str(&format!("event: message\ndata: {}\n\n", event.json(&self.agent))),
            Shape::Text => {
                // A lone carriage return ends a line of the stream, too: the rest would be a field of its own.
                for line in event.text(&self.agent).replace("\r\n", "\n").split(['\n', '\r']) {
                    out.push_str(&format!("data: {line}\n"));
                }
                out.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FixedPieces(Vec<&'static str>);

    impl Pieces for FixedPieces {
        async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
            Ok((!self.0.is_empty()).then(|| self.0.remove(0).into()))
        }
    }

    async fn all(pieces: Vec<&'static str>, shape: Shape) -> String {
        let (agent, dialect) = ("echo".into(), Dialect::new("Hi".into()));
        let mut stream =
            TranslatedStream { pieces: FixedPieces(pieces), agent, dialect, shape, first_event: None };
        let mut out = String::new();
        while let Some(piece) = stream.next().await.unwrap() {
            out.push_str(std::str::from_utf8(&piece).unwrap());
        }
        out
    }

    #[tokio::test]
    async fn events_are_told_until_the_turn_ends() {
        let pieces = || {
            vec![
                "retry: 1000\n\nid: 1\nevent: RunStarted\ndata: {\"depth\":0}\n\n",
                KEEPALIVE,
                "id: 2\nevent: TextOutput\ndata: {\"depth\":0,\"content\":\"a\\nb\"}\n\n",
                "id: 3\nevent: WaitForInput\ndata: {\"depth\":0,\"request_keys\":{\"k\":\"?\"}}\n\nid: 4\nevent: TextOutput\ndata: {\"content\":\"late\"}\n\n",
                "id: 5\nevent: TextOutput\ndata: {\"content\":\"later\"}\n\n",
            ]
        };
        let json = all(pieces(), Shape::Json).await;
        assert_eq!(json.matches("event: message\n").count(), 3, "{json}");
        assert!(
            json.contains(KEEPALIVE) && json.contains("wait_for_input") && !json.contains("late"),
            "{json}"
        );
        let text = all(pieces(), Shape::Text).await;
        assert!(text.contains("data: a\ndata: b\n\n"), "{text}");
    }

    #[tokio::test]
    async fn each_line_of_a_text_is_data_whatever_ends_it() {
        let piece = "id: 2\nevent: TextOutput\ndata: {\"depth\":0,\"content\":\"50%\\r\\revent: evil\\r\\n100%\"}\n\n";
        let text = all(vec![piece], Shape::Text).await;
        assert_eq!(text, "data: 50%\ndata: \ndata: event: evil\ndata: 100%\n\n");
    }
}
