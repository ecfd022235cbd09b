//! The authorization server (OAuth 2.1): a person authorizes a client, such as an assistant on the web, to speak as
//! one of the person's agents. The client gets tokens of that agent, which `accounts` creates and ends; this room has
//! OAuth's messages, the consent page, the authorization codes, and the exchange of tokens of external issuers.
//! Must not know: any protocol; `accounts` decides the rights of a token.

mod client;
mod code;
mod consent;
mod document;
mod foreign;
mod forms;
pub mod limits;
mod oauth;
mod page;
mod parameters;
mod routes;
mod served;
mod token;
mod wire;

pub use oauth::OAuth;
