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

use super::{BUSY, Door, OnePath, SignedCall, doc, of_accord};
use crate::{refusals::HouseRefusal, routes::OPAQUE, wire::LinkOutcome};

const SIGNED: &str = "Signed (RFC 9421) with the peer's key. Names are those of the network that says them.";

fn about(id: &'static str, path: &'static str, summary: &'static str) -> OperationDoc {
    of_accord(doc(id, Method::POST, path, summary))
        .description(SIGNED)
        .errors(Class::Malformed, &["invalid_json", "invalid_body"])
        .errors(Class::TooMany, BUSY)
}

pub(super) fn operations() -> Vec<Operation<Door>> {
    let offer = about(
        "link.offer",
        "/link/v1/accords/{accord_id}/offers",
        "Say which agents take an invitation into a session of the peer",
    )
    .request::<CrossingOffer>()
    .reply::<CrossingConsents>();
    let command = about(
        "link.command",
        "/link/v1/accords/{accord_id}/commands",
        "Carry out what an agent of the peer does in a session",
    )
    .request::<CrossingCommand>()
    .reply::<LinkOutcome>();
    let events = about(
        "link.events",
        "/link/v1/accords/{accord_id}/events",
        "Give the peer events of a session that an agent of it takes part in",
    )
    .request::<CrossingAsk>()
    .reply::<CrossingEvents>();
    let news = about(
        "link.news",
        "/link/v1/accords/{accord_id}/news",
        "Say in which sessions a peer's agents have news, as soon as there are some",
    )
    .request::<CrossingNewsAsk>()
    .reply::<CrossingNewsPage>();
    let states = about(
        "link.states",
        "/link/v1/accords/{accord_id}/states",
        "Say what became of a message for agents of this network",
    )
    .request::<CrossingStatesAsk>()
    .reply::<CrossingStates>();
    let file = about(
        "link.file",
        "/link/v1/accords/{accord_id}/files",
        "Give the host of a session the content of a file that a message of this network's agent names",
    )
    .request::<CrossingFileAsk>()
    .reply_type(OPAQUE);
    vec![
        Operation::new(file, say_file),
        Operation::new(states, say_states),
        Operation::new(offer, take_offer),
        Operation::new(command, take_command),
        Operation::new(events, say_events),
        Operation::new(news, say_news),
    ]
}

async fn take_offer(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingConsents>, HouseRefusal> {
    let peer = door.admit_about_sessions(&call, path, &door.links.0.sessions_at_once).await?;
    let sent: CrossingOffer = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.take_offer(&peer, sent).await?))
}

async fn take_command(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<LinkOutcome>, HouseRefusal> {
    let peer = door.admit_about_sessions(&call, path, &door.links.0.sessions_at_once).await?;
    let sent: CrossingCommand = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.take_command(&peer, sent).await?))
}

async fn say_file(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Response, HouseRefusal> {
    let peer = door.admit_about_sessions(&call, path, &door.links.0.sessions_at_once).await?;
    let sent: CrossingFileAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    door.links.say_file(peer, &sent).await
}

async fn say_events(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingEvents>, HouseRefusal> {
    let peer = door.admit_about_sessions(&call, path, &door.links.0.sessions_at_once).await?;
    let sent: CrossingAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.say_events(&peer, &sent).await?))
}

async fn say_news(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingNewsPage>, HouseRefusal> {
    let peer = door.admit_about_sessions(&call, path, &door.links.0.news_at_once).await?;
    let sent: CrossingNewsAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.say_news(&peer, &sent).await?))
}

async fn say_states(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<CrossingStates>, HouseRefusal> {
    let peer = door.admit_about_sessions(&call, path, &door.links.0.sessions_at_once).await?;
    let sent: CrossingStatesAsk = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.say_states(&peer, sent).await?))
}
