//! Packages that wait for a person's review: requests to the people of the project's owner.
//! Must not know: the effects of a review.

use plenary_context::limits::NOTE_BYTES_MAX;
use plenary_kernel::{AskId, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_requests::{
    Allow, AnswerType, CONTENT_BYTES_MAX, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{RequestView, SourceView},
};
use serde_json::json;

use crate::{Sources, later::Share, sources::line};

/// The longest part of a document in a request; the whole document is in the package.
const DOCUMENT_CHARS_MAX: usize = CONTENT_BYTES_MAX / 8;

fn request_of(package: &str, since: Version) -> AskId {
    AskId::of_source(&format!("packages/{package}/{}", since.0))
}

/// The person's text as the note of the review. A text that is too long for a note is cut and names its request, which
/// the agent may read.
fn note(text: &str, request: &AskId) -> String {
    if text.len() <= NOTE_BYTES_MAX {
        return text.to_owned();
    }
    let rest = format!("… (cut; the whole text is the answer of GET /requests/{request})");
    let end = text.floor_char_boundary(NOTE_BYTES_MAX - rest.len());
    format!("{}{rest}", &text[..end])
}

impl Sources {
    /// A package was deposited, or its review moved on.
    pub(crate) async fn package_moved(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let package = event.stream.id();
        let (waits, requested) = self.0.context.human_review(package).await?;
        let since = waits.as_ref().map(|waits| waits.since);
        for earlier in requested.into_iter().filter(|requested| Some(*requested) != since) {
            self.0.requests.give_up(&request_of(package, earlier)).await?;
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
                id: package.to_owned(),
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
        self.ask(&request_of(package, waits.since), command).await
    }

    /// Applies the answer: accepting completes the package, a text requests a revision, ignoring leaves it waiting.
    /// While the project is archived, the answer waits.
    pub(crate) async fn answer_review(&self, request: &RequestView) -> Result<Option<Share>, Fault> {
        let (Some(source), Some(answer)) = (&request.source, &request.answer) else { return Ok(None) };
        let is_complete = match answer.answer {
            AnswerType::Accept => true,
            AnswerType::Respond => false,
            AnswerType::Edit | AnswerType::Ignore => return Ok(None),
        };
        let (id, context) = (&request.request_id, &self.0.context);
        let (waits, _) = context.human_review(&source.id).await?;
        // The package may wait for another review since, which is another request.
        if waits.is_none_or(|waits| request_of(&source.id, waits.since) != *id) {
            return Ok(None);
        }
        let note = answer.text.as_deref().map(|text| note(text, id));
        let is_settled = context.review_for_person(&source.id, is_complete, note).await?;
        Ok((!is_settled).then(|| Share::of_answer(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_beyond_a_note_is_cut_and_names_its_request() {
        let id = AskId::of_source("packages/P/p/1");
        let whole = "é".repeat(NOTE_BYTES_MAX / 2);
        assert_eq!(note(&whole, &id), whole);
        for text in [format!("{whole}x"), format!("x{whole}")] {
            let cut = note(&text, &id);
            assert!(cut.len() <= NOTE_BYTES_MAX && cut.len() > NOTE_BYTES_MAX - 4, "{}", cut.len());
            let (kept, rest) = cut.split_once('…').unwrap();
            assert!(text.starts_with(kept) && rest.contains(id.as_str()), "{rest}");
        }
    }
}
