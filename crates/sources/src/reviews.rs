//! Packages that wait for a person's review: requests to the people of the project's owner.
//! Must not know: the effects of a review.

use plenary_kernel::{AskId, Version};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_requests::{
    Allow, AnswerType, CONTENT_BYTES_MAX, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{RequestView, SourceView},
};
use serde_json::json;

use crate::{Sources, later::Share, sources::line};

/// The longest part of a document in a request; the whole document is in the package.
const DOCUMENT_CHARS_MAX: usize = CONTENT_BYTES_MAX / 8;

fn request_of(stream: &StreamName, since: Version) -> AskId {
    AskId::of_source(&format!("packages/{}/{}", stream.id(), since.0))
}

impl Sources {
    /// A package was deposited, or its review moved on.
    pub(crate) async fn package_moved(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let stream = &event.stream;
        let (waits, requested) = self.0.context.human_review(stream).await?;
        let since = waits.as_ref().map(|waits| waits.since);
        for earlier in requested.into_iter().filter(|requested| Some(*requested) != since) {
            self.0.requests.give_up(&request_of(stream, earlier)).await?;
        }
        let Some(waits) = waits else { return Ok(None) };
        let document = waits.document.map(|text| text.chars().take(DOCUMENT_CHARS_MAX).collect());
        let text = waits.text.chars().take(DOCUMENT_CHARS_MAX).collect();
        let content = Content {
            title: line(&format!("Review: {}", waits.title)),
            on_behalf_of: None,
            action: None,
            detail: Some(Detail { text: Some(text), document, ..Detail::default() }),
            source: Some(SourceView {
                room: "context".into(),
                id: stream.id().to_owned(),
                url: Some(line(&format!("/v1/packages/{}?project={}", waits.package_id, waits.project_id))),
            }),
            directory: None,
            choices: Vec::new(),
            form: None,
        };
        let command = MakeRequest {
            source: Source::Server,
            agent: waits.by,
            stranger: None,
            kind: Kind::Review,
            to: None,
            allow: Allow { accept: true, edit: false, respond: true, ignore: true },
            deadline: None,
            on_timeout: OnTimeout::None,
            tool: None,
            directory: None,
            notifies_inbox: true,
            content: json!(content).to_string().into(),
        };
        self.ask(&request_of(stream, waits.since), command).await
    }

    /// Applies the answer: accepting completes the package, a text requests a revision, ignoring leaves it waiting.
    pub(crate) async fn answer_review(&self, request: &RequestView) -> Result<(), Fault> {
        let (Some(source), Some(answer)) = (&request.source, &request.answer) else { return Ok(()) };
        let is_complete = match answer.answer {
            AnswerType::Accept => true,
            AnswerType::Respond => false,
            AnswerType::Edit | AnswerType::Ignore => return Ok(()),
        };
        self.0.context.review_for_person(&source.id, is_complete, answer.text.clone()).await
    }
}
