//! Issuers of tokens outside this server, as the operator configures them: their keys, the checks of their tokens, and the
//! rules that say who is admitted and as whom.
//! Must not know: what a session or a token of this server is made of; the accounts make both.

mod crypto;
mod discovery;
mod flaw;
mod issuer;
mod issuers;
mod keys;
pub mod limits;
mod rules;
mod sign_in;
mod verify;

pub use flaw::Flaw;
pub use issuer::{Client, Issuer, IssuerSettings, TokenUse};
pub use issuers::Issuers;
pub use rules::{AgentRule, ClaimPatterns, Claims, PersonRule};
pub use sign_in::SignInAttempt;
pub use verify::Proven;
