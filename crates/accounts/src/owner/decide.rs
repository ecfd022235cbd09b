//! The decisions on an owner. Pure.

use plenary_engine::Decision;

use super::{
    command::{Gift, GiveFacts, GiveToken},
    event::{OwnerEvent, OwnerRegistered, OwnerTokenSet},
    state::OwnerState,
};
use crate::{Actor, rejection::Rejection};

/// Decides `GiveToken`: the operator gives any token, an owner replaces its own; but nobody who signed in at an issuer, because
/// the token is valid without the issuer.
pub(crate) fn give_token(
    state: &OwnerState,
    facts: GiveFacts,
    command: &GiveToken,
) -> Result<Decision<OwnerEvent, ()>, Rejection> {
    let by = command.authority.by.clone();
    match &by {
        Actor::Operator | Actor::Seed => {}
        Actor::Owner(owner) if *owner == command.owner && command.gift == Gift::Replacement => {
            if !command.authority.token.is_some_and(|token| state.accepts_token(&token)) {
                return Err(Rejection::Revoked);
            }
        }
        Actor::Owner(_) | Actor::Agent(_) => return Err(Rejection::NotFound),
    }
    if facts.signed_in_at_issuer {
        return Err(Rejection::SignedInAtIssuer);
    }
    let event = match (command.gift, state.exists(), state.token()) {
        (Gift::First, true, Some(_)) => return Err(Rejection::OwnerExists),
        (Gift::Replacement, false, _) => return Err(Rejection::NotFound),
        (Gift::First | Gift::Replacement, _, _) if facts.token_exists => return Err(Rejection::TokenExists),
        (Gift::First, false, _) if command.owner.is_elsewhere() => return Err(Rejection::OwnerElsewhere),
        (Gift::First, false, _) => {
            OwnerEvent::OwnerRegistered(OwnerRegistered { by, token: Some(command.token) })
        }
        (Gift::First | Gift::Replacement, true, old) => {
            OwnerEvent::OwnerTokenSet(OwnerTokenSet { by, old, new: command.token })
        }
    };
    Ok(Decision::new(vec![event], ()))
}

#[cfg(test)]
mod tests {
    use plenary_kernel::TimestampMs;

    use super::*;
    use crate::{Authority, TokenDigest};

    const OLD: &str = "plw_old";
    const NEW: &str = "plw_new";

    fn owner(token: Option<&str>) -> OwnerState {
        let event = OwnerRegistered { by: Actor::Operator, token: token.map(TokenDigest::of) };
        let mut state = OwnerState::default();
        state.evolve(TimestampMs(1), &OwnerEvent::OwnerRegistered(event));
        state
    }

    fn give(
        state: &OwnerState,
        actor: &str,
        token: Option<&str>,
        gift: Gift,
    ) -> Result<Option<String>, Rejection> {
        let authority = Authority { by: actor.parse().unwrap(), token: token.map(TokenDigest::of) };
        let command =
            GiveToken { authority, owner: "acme".parse().unwrap(), gift, token: TokenDigest::of(NEW) };
        let facts = GiveFacts { token_exists: false, signed_in_at_issuer: false };
        let decision = give_token(state, facts, &command)?;
        let rejection = |facts| give_token(state, facts, &command).unwrap_err();
        assert_eq!(rejection(GiveFacts { token_exists: true, ..facts }), Rejection::TokenExists);
        let at_issuer = GiveFacts { signed_in_at_issuer: true, ..facts };
        assert_eq!(rejection(at_issuer), Rejection::SignedInAtIssuer);
        assert_eq!(decision.events.len(), 1);
        let mut after = state.clone();
        after.evolve(TimestampMs(2), &decision.events[0]);
        assert!(after.accepts_token(&TokenDigest::of(NEW)) && !after.accepts_token(&TokenDigest::of(OLD)));
        Ok(match &decision.events[0] {
            OwnerEvent::OwnerRegistered(_) => Some("registered".to_owned()),
            OwnerEvent::OwnerTokenSet(event) => event.old.map(|old| old.hex()),
        })
    }

    #[test]
    fn an_owner_gets_one_first_token_from_the_operator() {
        let no_owner = OwnerState::default();
        assert_eq!(give(&no_owner, "operator", None, Gift::First), Ok(Some("registered".to_owned())));
        assert_eq!(give(&owner(None), "operator", None, Gift::First), Ok(None), "it came with an agent");
        assert_eq!(give(&owner(Some(OLD)), "operator", None, Gift::First), Err(Rejection::OwnerExists));
        for actor in ["~acme", "~other", "@acme.bot"] {
            assert_eq!(give(&no_owner, actor, Some(OLD), Gift::First), Err(Rejection::NotFound), "{actor}");
        }
    }

    #[test]
    fn a_token_is_replaced_by_the_operator_or_its_bearer() {
        let old = TokenDigest::of(OLD).hex();
        let state = owner(Some(OLD));
        assert_eq!(give(&state, "operator", None, Gift::Replacement), Ok(Some(old.clone())));
        assert_eq!(give(&state, "~acme", Some(OLD), Gift::Replacement), Ok(Some(old)));
        assert_eq!(give(&state, "~acme", Some("plw_x"), Gift::Replacement), Err(Rejection::Revoked));
        assert_eq!(give(&state, "~other", Some(OLD), Gift::Replacement), Err(Rejection::NotFound));
        assert_eq!(give(&state, "@acme.bot", Some(OLD), Gift::Replacement), Err(Rejection::NotFound));
        let no_owner = OwnerState::default();
        assert_eq!(give(&no_owner, "operator", None, Gift::Replacement), Err(Rejection::NotFound));
    }
}
