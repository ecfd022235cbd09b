//! External issuers of tokens, as the operator configures them: their keys, the verification of their tokens, and the
//! rules that map claims to accounts.
//! Must not know: the content of this server's sessions and tokens; `accounts` creates both.

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
