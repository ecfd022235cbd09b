//! The signed calls of peers about sessions.
//! Must not know: the rules of a session.

use axum::{Json, extract::State, response::Response};
use http::Method;
use plenary_edge::{Operation, OperationDoc, StrictJson};
use plenary_kernel::Class;
use plenary_sessions::crossing::wire::{
    CrossingAsk, CrossingCommand, CrossingConsents, CrossingEvents, CrossingFileAsk, CrossingNewsAsk,
    CrossingNewsPage, CrossingOffer, CrossingStates, CrossingStatesAsk,
};

use super::{BUSY, Door, OnePath, SignedCall, accord_doc, doc};
use crate::{refusals::HouseRefusal, routes::OPAQUE, wire::LinkOutcome};

const SIGNED: &str = "Signed (RFC 9421) with the peer's key. Names are those of the network that says them.";

fn session_doc(id: &'static str, path: &'static str, summary: &'static str) -> OperationDoc {
    accord_doc(doc(id, Method::POST, path, summary))
        .description(SIGNED)
        .errors(Class::Malformed, &["invalid_json", "invalid_body"])
        .errors(Class::TooMany, BUSY)
}

pub(super) fn operations() -> Vec<Operation<Door>> {
    let offer = session_doc(
        "link.offer",
        "/link/v1/accords/{accord_id}/offers",
        "Say which agents take an invitation into a session of the peer",
    )
    .request::<CrossingOffer>()
    .reply::<CrossingConsents>();
    let command = session_doc(
        "link.command",
        "/link/v1/accords/{accord_id}/commands",
        "Carry out what an agent of the peer does in a session",
    )
    .request::<CrossingCommand>()
    .reply::<LinkOutcome>();
    let events = session_doc(
        "link.events",
        "/link/v1/accords/{accord_id}/events",
        "Give the peer events of a session that an agent of it takes part in",
    )
    .request::<CrossingAsk>()
    .reply::<CrossingEvents>();
    let news = session_doc(
        "link.news",
        "/link/v1/accords/{accord_id}/news",
        "Say in which sessions a peer's agents have news, as soon as there are some",
    )
    .request::<CrossingNewsAsk>()
    .reply::<CrossingNewsPage>();
    let states = session_doc(
        "link.states",
        "/link/v1/accords/{accord_id}/states",
        "Say what became of a message for agents of this network",
    )
    .request::<CrossingStatesAsk>()
    .reply::<CrossingStates>();
    let file = session_doc(
        "link.file",
        "/link/v1/accords/{accord_id}/files",
        "Give the host of a session the content of a file that a message of this network's agent names",
    )
    .request::<CrossingFileAsk>()
    .reply_type(OPAQUE);
    vec![
        file.handled_by(file_content),
        states.handled_by(delivery_states),
        offer.handled_by(consider_offer),
        command.handled_by(execute_command),
        events.handled_by(session_events),
        news.handled_by(session_news),
    ]
}

async fn consider_offer(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingConsents>, HouseRefusal> {
    let peer = door.admit_session_request(&call, path, &door.links.0.sessions_at_once).await?;
    let offer: CrossingOffer = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.consider_offer(&peer, offer).await?))
}

async fn execute_command(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<LinkOutcome>, HouseRefusal> {
    let peer = door.admit_session_request(&call, path, &door.links.0.sessions_at_once).await?;
    let command: CrossingCommand = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.execute_command(&peer, command).await?))
}

async fn file_content(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Response, HouseRefusal> {
    let peer = door.admit_session_request(&call, path, &door.links.0.sessions_at_once).await?;
    let request: CrossingFileAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    door.links.file_content(peer, &request).await
}

async fn session_events(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingEvents>, HouseRefusal> {
    let peer = door.admit_session_request(&call, path, &door.links.0.sessions_at_once).await?;
    let request: CrossingAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.session_events(&peer, request).await?))
}

async fn session_news(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingNewsPage>, HouseRefusal> {
    let peer = door.admit_session_request(&call, path, &door.links.0.news_at_once).await?;
    let request: CrossingNewsAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.session_news(&peer, &request).await?))
}

async fn delivery_states(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingStates>, HouseRefusal> {
    let peer = door.admit_session_request(&call, path, &door.links.0.sessions_at_once).await?;
    let request: CrossingStatesAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.delivery_states(&peer, request).await?))
}
