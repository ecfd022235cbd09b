//! The authorization server (OAuth 2.1): a person lets a client, such as an assistant on the web, speak as one of the
//! person's agents. What a client gets are tokens of that agent, made and ended by the accounts; this room has the
//! messages of OAuth, the page on which a person consents, the codes that stand for a consent for a minute, and the exchange of
//! tokens that issuers outside give out.
//! Must not know: any protocol; what a token may do, the accounts decide.

mod client;
mod code;
mod consent;
mod document;
mod foreign;
pub mod limits;
mod oauth;
mod page;
mod parameters;
mod routes;
mod served;
mod token;
mod wire;

pub use oauth::OAuth;
