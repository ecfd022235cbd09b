//! How two networks make an accord: one invites, the other accepts, and the other network proves its identity at its own
//! domain.
//! Must not know: HTTP, except the responses of the other network.

use std::collections::HashSet;

use http::{Method, StatusCode};
use parking_lot::Mutex;
use plenary_accounts::{Authority, TokenDigest};
use plenary_engine::ExecuteError;
use plenary_kernel::{AccordId, OwnerName, TimestampMs};
use plenary_log::Fault;

use crate::{
    Links, NetworkUrl,
    accord::{
        decide::{Acceptance, AccordStep, AffectedAccord, NewAccord, NewInvitation, Rejection, may_accept},
        state::Peer,
    },
    grant::{Grants, parse_grant_names},
    nonces::NotGood,
    peer_calls::{ACCORDS_PATH, CallFailure},
    quota::QuotaUsed,
    revocations::revocation_path,
    signature::SentSignature,
    wire::{LinkAcceptance, LinkAccord},
};

const CODE_PREFIX: &str = "plp_";

/// A new random code. A repeated request gets the same code again.
fn code() -> String {
    let random = || {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("the system has randomness");
        bytes
    };
    let bytes: [u8; 32] = plenary_engine::secret_of_request().unwrap_or_else(random);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{CODE_PREFIX}{hex}")
}

/// Whether a text has the form of a code.
pub(crate) fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix(CODE_PREFIX).unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A peer as the operator describes it.
#[derive(Debug)]
pub(crate) struct NamedPeer {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) grants: Grants,
}

/// The right to make an accord with a network: this process makes one with each network at a time.
#[derive(Debug)]
struct CeremonyTurn<'a> {
    all: &'a Mutex<HashSet<NetworkUrl>>,
    network: NetworkUrl,
}

impl<'a> CeremonyTurn<'a> {
    fn begin(all: &'a Mutex<HashSet<NetworkUrl>>, network: &NetworkUrl) -> Option<Self> {
        let is_first = all.lock().insert(network.clone());
        // Only the first one takes the network out again.
        is_first.then(|| Self { all, network: network.clone() })
    }
}

impl Drop for CeremonyTurn<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.network);
    }
}

/// Why an accord was not made.
#[derive(Debug)]
pub(crate) enum CeremonyFailure {
    /// The command was rejected or failed.
    Execute(ExecuteError<Rejection>),
    /// The other network could not be reached; the text is for people.
    Unreachable(String),
    /// The other network has no such invitation.
    NoInvitation,
    /// The key of the signature is not among the keys at the network's domain.
    Unproven,
    /// The signature is not valid now.
    Signature(NotGood),
    /// The invitation was tried too often.
    TooMany(QuotaUsed),
}

impl From<ExecuteError<Rejection>> for CeremonyFailure {
    fn from(error: ExecuteError<Rejection>) -> Self {
        Self::Execute(error)
    }
}

impl From<Fault> for CeremonyFailure {
    fn from(fault: Fault) -> Self {
        Self::Execute(fault.into())
    }
}

impl From<CallFailure> for CeremonyFailure {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Unreachable(error) => Self::Unreachable(error),
            CallFailure::Refused(StatusCode::NOT_FOUND, _) => Self::NoInvitation,
            CallFailure::Refused(..) => Self::Unreachable(failure.to_string()),
        }
    }
}

impl Links {
    /// Invites a network until a time. Returns the code that its operator accepts with.
    pub(crate) async fn invite(
        &self,
        authority: Authority,
        peer: NamedPeer,
        expires_at: TimestampMs,
    ) -> Result<(AffectedAccord, String), ExecuteError<Rejection>> {
        let code = code();
        let NamedPeer { peer, network, grants } = peer;
        let new = NewInvitation { peer, network, grants, code: TokenDigest::of(&code), expires_at };
        Ok((self.execute(Some(authority), AccordStep::Invite(new)).await?, code))
    }

    /// Accepts the invitation of a network as the network `own`. If the reply is lost, nothing is recorded here, and a retry
    /// gets the same reply.
    pub(crate) async fn accept(
        &self,
        authority: Authority,
        own: &NetworkUrl,
        peer: NamedPeer,
        code: String,
    ) -> Result<AffectedAccord, CeremonyFailure> {
        let NamedPeer { peer, network, grants } = peer;
        let _turn_with_network =
            CeremonyTurn::begin(&self.0.ceremonies, &network).ok_or(Fault::Overloaded)?;
        // Check first what would be rejected here, before the other network is asked.
        let peers = self.peers().await?;
        may_accept(&peers, self.now(), &peer, &network).map_err(ExecuteError::Rejected)?;
        let names = grants.names().into_iter().map(String::from).collect();
        let keys = self.keys_of(&network).await?;
        // A network signs with the first Ed25519 key of its document.
        let key = keys.into_iter().next().ok_or(CeremonyFailure::Unproven)?;
        let acceptance = LinkAcceptance { code, network: own.to_string(), grants: names };
        let accord: LinkAccord = self.call(&network, (Method::POST, ACCORDS_PATH), Some(&acceptance)).await?;
        let unreadable = || CeremonyFailure::Unreachable("its grants cannot be read".into());
        let peer_grants = parse_grant_names(&accord.grants).ok_or_else(unreadable)?;
        let (accord, url) = (accord.accord_id, network.clone());
        let new = NewAccord { peer, network, accord: accord.clone(), key, grants, peer_grants };
        let made = self.execute(Some(authority), AccordStep::Make(new)).await;
        let is_refused = |rejection: &Rejection| !matches!(rejection, Rejection::Unauthenticated);
        if matches!(&made, Err(ExecuteError::Rejected(rejection)) if is_refused(rejection)) {
            self.take_back(&url, &accord).await;
        }
        Ok(made?)
    }

    /// Revokes an accord at a network that has made it, because it is refused here.
    async fn take_back(&self, network: &NetworkUrl, accord: &AccordId) {
        if self.peers().await.is_ok_and(|peers| peers.of_accord(accord).is_none())
            && let Err(failure) = self.tell(network, &revocation_path(accord)).await
        {
            tracing::warn!(%network, %failure, "an accord that is refused here holds at the other network: revoke it there");
        }
    }

    /// Accepts on behalf of a network that redeems an invitation of this one. The server fetches the network's keys from its
    /// domain only after the code has matched an open invitation.
    pub(crate) async fn redeem(
        &self,
        signature: &SentSignature,
        acceptance: &LinkAcceptance,
    ) -> Result<AffectedAccord, CeremonyFailure> {
        let absent = || CeremonyFailure::Execute(ExecuteError::Rejected(Rejection::Absent));
        let network: NetworkUrl = acceptance.network.parse().map_err(|_| absent())?;
        let code = TokenDigest::of(&acceptance.code);
        let peers = self.peers().await?;
        let is_open = |peer: &Peer| peer.invitation().is_some_and(|invitation| self.now() < invitation.until);
        let invited_peer = peers.of_code(&code).filter(|(_, peer)| peer.network == network && is_open(peer));
        let (_, peer) = invited_peer.ok_or_else(absent)?;
        // Two operators who invite each other and accept at the same moment would get two accords. The other server says that
        // the request can be repeated.
        let _turn_with_network =
            CeremonyTurn::begin(&self.0.ceremonies, &network).ok_or(Fault::Overloaded)?;
        let peer_grants = parse_grant_names(&acceptance.grants).ok_or_else(absent)?;
        self.0.quotas.take(&peer.accord, self.now()).map_err(CeremonyFailure::TooMany)?;
        let _turn = self.0.redemptions.try_acquire().map_err(|_| CeremonyFailure::from(Fault::Overloaded))?;
        let keys = match peer.active() {
            // The network has accepted before, so its key is pinned and need not be fetched.
            Some(active) => vec![active.key],
            None => self.keys_of(&network).await?,
        };
        let key = keys.into_iter().find(|key| signature.is_by(key)).ok_or(CeremonyFailure::Unproven)?;
        self.use_nonce(signature).await.map_err(CeremonyFailure::Signature)?;
        let step = AccordStep::Accept(Acceptance { code, network, key, peer_grants });
        Ok(self.execute(None, step).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_ceremony_with_a_network_at_a_time() {
        let (all, network) = (Mutex::default(), "https://rose.example".parse().unwrap());
        let first = CeremonyTurn::begin(&all, &network).unwrap();
        assert!(CeremonyTurn::begin(&all, &network).is_none());
        assert!(CeremonyTurn::begin(&all, &network).is_none(), "one that is refused ends none");
        assert!(CeremonyTurn::begin(&all, &"https://acme.example".parse().unwrap()).is_some());
        drop(first);
        assert!(CeremonyTurn::begin(&all, &network).is_some());
    }

    #[test]
    fn a_code_is_told_from_what_is_none() {
        let first_code = code();
        assert!(is_code(&first_code));
        assert_ne!(first_code, code());
        for invalid in [
            "",
            "plp_",
            &first_code[..67],
            &format!("{first_code}0"),
            &first_code.replace("plp_", "plw_"),
            &first_code.replace('_', "-"),
        ] {
            assert!(!is_code(invalid), "{invalid}");
        }
    }
}
