//! Checks the operator's requests. Each invalid member has its own code.
//! Must not know: the caller.

use plenary_accounts::Accounts;
use plenary_kernel::{OwnerName, PEER_NAME_CHARS_MAX, Refusal};

use crate::{
    Links, NetworkUrl,
    ceremony::{NamedPeer, is_code},
    grant::Grants,
    limits::{INVITATION_SECONDS, INVITATION_SECONDS_MAX},
    refusals::HouseRefusal,
    wire::GrantsSent,
};

fn malformed(code: &'static str, text: impl Into<String>) -> Refusal {
    Refusal::malformed(code, text.into())
}

/// The peer of an operator's request. `own` is this network.
pub(crate) async fn parse_peer(
    links: &Links,
    own: &NetworkUrl,
    (network, peer, grants): (&str, &str, &GrantsSent),
) -> Result<NamedPeer, HouseRefusal> {
    let network: NetworkUrl =
        network.parse().map_err(|error| malformed("invalid_network", format!("`network` {error}.")))?;
    links.may_ask(&network).map_err(|error| malformed("invalid_network", format!("`network` {error}.")))?;
    if network == *own {
        return Err(malformed("invalid_network", "`network` is this network itself.").into());
    }
    let fits = |name: &OwnerName| name.may_name_peer() && name.as_str().len() <= PEER_NAME_CHARS_MAX;
    let peer = peer.parse().ok().filter(fits).ok_or_else(|| {
        malformed(
            "invalid_peer",
            format!(
                "`peer` must be a name like an owner's (a-z, 0-9, - and _), of at most {PEER_NAME_CHARS_MAX} characters, \
                 without `-at-` in it or `at-` in front."
            ),
        )
    })?;
    let grants =
        Grants::parse(grants).map_err(|error| malformed("invalid_grants", format!("`grants`: {error}.")))?;
    require_owners(links.accounts(), &grants).await?;
    Ok(NamedPeer { peer, network, grants })
}

/// A grant to an owner that does not exist is a mistake.
async fn require_owners(accounts: &Accounts, grants: &Grants) -> Result<(), HouseRefusal> {
    for owner in grants.owners() {
        if !accounts.owner(owner).await?.state.exists() {
            return Err(malformed("invalid_grants", format!("`grants`: there is no owner {owner:?}.")).into());
        }
    }
    Ok(())
}

/// The lifetime of an invitation, in milliseconds.
pub(crate) fn invitation_lifetime_ms(expires_in_s: Option<u64>) -> Result<u64, Refusal> {
    match expires_in_s.unwrap_or(INVITATION_SECONDS) {
        seconds @ 1..=INVITATION_SECONDS_MAX => Ok(seconds * 1_000),
        _ => Err(malformed(
            "invalid_expires_in",
            format!("`expires_in_s` must be 1 to {INVITATION_SECONDS_MAX}."),
        )),
    }
}

/// Checks the form of a code.
pub(crate) fn require_code(code: &str) -> Result<(), Refusal> {
    if is_code(code) {
        Ok(())
    } else {
        Err(malformed("invalid_code", "`code` must be plp_ and 64 hex digits."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_lasts_a_day_or_as_it_says() {
        assert_eq!(invitation_lifetime_ms(None), Ok(86_400_000));
        assert_eq!(invitation_lifetime_ms(Some(1)), Ok(1_000));
        assert!(invitation_lifetime_ms(Some(INVITATION_SECONDS_MAX)).is_ok());
        for invalid in [0, INVITATION_SECONDS_MAX + 1, u64::MAX] {
            assert_eq!(invitation_lifetime_ms(Some(invalid)).unwrap_err().code, "invalid_expires_in");
        }
    }
}
