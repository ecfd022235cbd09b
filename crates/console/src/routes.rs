//! The operations of the console: parse, call, translate the result. Checks come in the order of the account operations.
//! Must not know: the events of the rooms.

mod audit;
mod issuers;
mod overview;
mod page;
mod passkeys;
mod people;
mod sessions;
mod watch;
mod who;

use http::request::Parts;
use plenary_accounts::{
    Accounts, ConsoleRole, Credentials, Keyring, OpenSession, Principal, TokenOwner, identify, signed_in,
};
use plenary_edge::Operation;
use plenary_kernel::{OwnerName, Refusal};
use plenary_room::House;

use crate::console::ConsoleState;

/// A refusal in the common form.
pub(crate) type ConsoleRefusal = plenary_room::ErrorReply<House>;

/// Why models have no tools for these operations.
pub(crate) const FOR_PEOPLE: &str = "for people, through the console and the command line";

pub(crate) fn all() -> Vec<Operation<ConsoleState>> {
    let parts: [fn() -> Vec<Operation<ConsoleState>>; 9] = [
        sessions::operations,
        issuers::operations,
        passkeys::operations,
        people::operations,
        audit::operations,
        overview::operations,
        who::operations,
        watch::operations,
        page::operations,
    ];
    parts.into_iter().flat_map(|operations| operations()).collect()
}

/// The caller and its console session, if any. Other rooms refuse writes of a viewer's session; here each operation decides.
async fn caller_and_session(
    accounts: &Accounts,
    parts: &Parts,
) -> Result<(Principal, Option<OpenSession>), Refusal> {
    if !parts.headers.contains_key(http::header::AUTHORIZATION)
        && let Some(open) = signed_in(accounts, parts).await?
    {
        return Ok((open.principal(None), Some(open)));
    }
    Ok((identify(parts, accounts, Credentials::Header).await?, None))
}

/// The console that a request concerns. An owner may name only itself, the operator any owner; every other caller gets 404.
async fn keyring(
    accounts: &Accounts,
    principal: &Principal,
    named: Option<OwnerName>,
) -> Result<Keyring, ConsoleRefusal> {
    match (&principal.who, named) {
        (TokenOwner::Operator, None) => Ok(Keyring::Operator),
        (TokenOwner::Operator, Some(owner)) => {
            let exists = accounts.fresh_owner(&owner).await?.state.exists();
            if exists { Ok(Keyring::Owner(owner)) } else { Err(Refusal::not_found().into()) }
        }
        (TokenOwner::Owner(owner), named) if named.as_ref().is_none_or(|named| named == owner) => {
            Ok(Keyring::Owner(owner.clone()))
        }
        (TokenOwner::Owner(_) | TokenOwner::Agent(_), _) => Err(Refusal::not_found().into()),
    }
}

/// Whether the session may only read.
fn is_viewer(open: Option<&OpenSession>) -> bool {
    open.is_some_and(|open| open.session.rights.role == ConsoleRole::Viewer)
}
