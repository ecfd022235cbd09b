//! Artifacts (SC-47): stored as blobs before their event is written, found by their id.
//! Must not know: HTTP, or the content of an artifact.

use std::convert::Infallible;

use plenary_accounts::Actor;
use plenary_blobs::{BlobId, Blobs, Content, PutError};
use plenary_log::{Fault, Order};

use crate::{
    Runs,
    access::may_read,
    event::Artifact,
    limits::ARTIFACT_BYTES_MAX,
    refusals::{self, RunRefusal},
    room::{ARTIFACTS, ArtifactPlace},
    runner::Event,
};

/// The error text for an artifact that cannot be stored because no blob store is configured.
const NO_BLOB_STORE: &str = "This server does not store artifacts; set `blobs` to store them.";
const NOT_STORED: &str = "The artifact could not be stored.";

impl Runs {
    /// Stores the artifact of an event. If that fails, the event reports it instead.
    pub(crate) async fn store_artifact(&self, mut event: Event) -> (Event, Option<Artifact>) {
        let Some(content) = event.artifact.take() else { return (event, None) };
        let Some(blobs) = &self.0.blobs else { return (Event::tool_error(NO_BLOB_STORE), None) };
        let id = BlobId::of(&content);
        let bytes = content.len() as u64;
        let stream = futures_util::stream::once(async { Ok::<_, Infallible>(content) });
        if let Err(error) = blobs.put(&id, stream, ARTIFACT_BYTES_MAX as u64).await {
            match error {
                PutError::Fault(fault) => tracing::error!(%fault, "an artifact cannot be stored"),
                PutError::Busy => {
                    tracing::warn!("an artifact cannot be stored: too many uploads are in progress")
                }
                PutError::Mismatch(_) | PutError::TooLarge { .. } | PutError::Content(_) => {}
            }
            return (Event::tool_error(NOT_STORED), None);
        }
        let members = event.members();
        let text =
            |name: &str| members.get(name).and_then(|text| text.as_str()).unwrap_or_default().to_owned();
        let artifact = Artifact {
            // Not guessable.
            id: format!("art_{}", self.clock().stamp().ulid(0)),
            name: text("name"),
            mime_type: text("mime_type"),
            bytes,
            sha256: id.to_string(),
        };
        (event, Some(artifact))
    }

    /// An artifact that the caller may see: every caller that may read its thread.
    pub(crate) async fn artifact(&self, actor: &Actor, id: &str) -> Result<Artifact, RunRefusal> {
        let rows = self.log().read_index(ARTIFACTS, id, None, 1, Order::Ascending).await?;
        let row = rows.first().filter(|row| row.key == id).ok_or_else(refusals::artifact_not_found)?;
        let place: ArtifactPlace = serde_json::from_slice(&row.value)
            .map_err(|error| Fault::Corrupt(format!("{id} in {ARTIFACTS}: {error}")))?;
        let state = self.fresh(place.thread).await?;
        let opened = state.opened.as_ref().ok_or_else(refusals::artifact_not_found)?;
        let owner = self.0.registry.get(&opened.agent).map(|agent| agent.owner());
        // An agent that is no longer here has no owner.
        let is_allowed = match &owner {
            Some(owner) => may_read(actor, &opened.by, owner),
            None => *actor == opened.by || *actor == Actor::Operator,
        };
        if is_allowed { Ok(place.artifact) } else { Err(refusals::artifact_not_found()) }
    }

    pub(crate) async fn content(&self, artifact: &Artifact) -> Result<Content, RunRefusal> {
        let blobs: &Blobs = self.0.blobs.as_ref().ok_or_else(refusals::artifact_not_found)?;
        let id: BlobId =
            artifact.sha256.parse().map_err(|_| Fault::Corrupt(format!("the digest of {}", artifact.id)))?;
        match blobs.get(&id, None).await {
            Ok(Some(content)) if content.bytes == artifact.bytes => Ok(content),
            Ok(_) => Err(refusals::damaged(&plenary_blobs::Fault::Damaged(id))),
            Err(fault) => Err(refusals::damaged(&fault)),
        }
    }
}
