//! The decisions on an organisation. Pure.

use plenary_engine::Decision;

use super::{
    command::{EditOrg, OrgEdit, OrgEdited, OrgFacts},
    event::{MemberRemoved, MemberSet, OrgEvent, OrgRegistered},
    state::OrgState,
};
use crate::{Actor, limits::ORG_MEMBERS_MAX, rejection::Rejection};

/// Decides `EditOrg` by the operator or the owner of that name (wire.md D.5); for others it is not found.
pub(crate) fn edit(
    state: &OrgState,
    facts: &OrgFacts,
    command: &EditOrg,
) -> Result<Decision<OrgEvent, OrgEdited>, Rejection> {
    if !facts.is_authorized {
        return Err(Rejection::Revoked);
    }
    let by = command.authority.by.clone();
    match &by {
        Actor::Operator | Actor::Seed => {}
        Actor::Owner(owner) if *owner == command.org => {}
        Actor::Owner(_) | Actor::Agent(_) => return Err(Rejection::NotFound),
    }
    let mut reply = OrgEdited { is_new: false, makes_owner: false };
    let event = match &command.edit {
        OrgEdit::Register if state.exists() => None,
        OrgEdit::Register if !facts.owner_exists && command.org.is_elsewhere() => {
            return Err(Rejection::OwnerElsewhere);
        }
        OrgEdit::Register => {
            reply = OrgEdited { is_new: true, makes_owner: !facts.owner_exists };
            Some(OrgEvent::OrgRegistered(OrgRegistered { by }))
        }
        OrgEdit::SetMember(..) | OrgEdit::RemoveMember(_) if !state.exists() => {
            return Err(Rejection::NotFound);
        }
        OrgEdit::SetMember(member, roles) => {
            let present = state.members().get(member);
            if present.is_none() && state.members().len() >= ORG_MEMBERS_MAX {
                return Err(Rejection::MembersFull);
            }
            let (member, all) = (member.clone(), roles.iter().cloned().collect());
            (present != Some(roles)).then_some(OrgEvent::MemberSet(MemberSet { by, member, roles: all }))
        }
        OrgEdit::RemoveMember(member) => {
            if !state.members().contains_key(member) {
                return Err(Rejection::NotFound);
            }
            Some(OrgEvent::MemberRemoved(MemberRemoved { by, member: member.clone() }))
        }
    };
    Ok(Decision::new(event.into_iter().collect(), reply))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plenary_kernel::TimestampMs;

    use super::*;
    use crate::{Authority, org::state::Role};

    const AUTHORIZED: OrgFacts = OrgFacts { is_authorized: true, owner_exists: true };

    fn decide(
        state: &OrgState,
        facts: OrgFacts,
        actor: &str,
        edit_: OrgEdit,
    ) -> Result<OrgEdited, Rejection> {
        edit_as(&mut state.clone(), facts, actor, edit_).map(|(reply, _)| reply)
    }

    fn edit_as(
        state: &mut OrgState,
        facts: OrgFacts,
        actor: &str,
        edit_: OrgEdit,
    ) -> Result<(OrgEdited, usize), Rejection> {
        let authority = Authority { by: actor.parse().unwrap(), token: None };
        let decision =
            edit(state, &facts, &EditOrg { authority, org: "acme".parse().unwrap(), edit: edit_ })?;
        decision.events.iter().for_each(|event| state.evolve(TimestampMs(1), event));
        Ok((decision.reply, decision.events.len()))
    }

    fn member(name: &str, roles: &[&str]) -> OrgEdit {
        let roles: BTreeSet<Role> = roles.iter().map(|role| role.parse().unwrap()).collect();
        OrgEdit::SetMember(name.parse().unwrap(), roles)
    }

    fn acme() -> OrgState {
        let mut state = OrgState::default();
        edit_as(&mut state, AUTHORIZED, "operator", OrgEdit::Register).unwrap();
        state
    }

    #[test]
    fn it_is_made_once_and_its_owner_with_it() {
        let no_org = OrgState::default();
        let no_owner = OrgFacts { owner_exists: false, ..AUTHORIZED };
        let reply = |is_new, makes_owner| Ok(OrgEdited { is_new, makes_owner });
        assert_eq!(decide(&no_org, no_owner, "operator", OrgEdit::Register), reply(true, true));
        assert_eq!(decide(&no_org, AUTHORIZED, "~acme", OrgEdit::Register), reply(true, false));
        assert_eq!(decide(&acme(), AUTHORIZED, "~acme", OrgEdit::Register), reply(false, false));
    }

    #[test]
    fn only_the_operator_and_its_owner_see_it() {
        for actor in ["~other", "@acme.bot"] {
            for edit_ in
                [OrgEdit::Register, member("~nick", &[]), OrgEdit::RemoveMember("~nick".parse().unwrap())]
            {
                assert_eq!(decide(&acme(), AUTHORIZED, actor, edit_), Err(Rejection::NotFound));
            }
        }
        let revoked = OrgFacts { is_authorized: false, ..AUTHORIZED };
        assert_eq!(decide(&acme(), revoked, "~acme", OrgEdit::Register), Err(Rejection::Revoked));
        assert_eq!(
            decide(&OrgState::default(), AUTHORIZED, "~acme", member("~nick", &[])),
            Err(Rejection::NotFound)
        );
    }

    #[test]
    fn members_have_the_roles_that_were_set_last() {
        let mut state = acme();
        let mut set = |edit_| edit_as(&mut state, AUTHORIZED, "~acme", edit_).map(|(_, events)| events);
        assert_eq!(set(member("~nick", &["admin", "writer"])), Ok(1));
        assert_eq!(set(member("~nick", &["writer", "admin"])), Ok(0), "the same again");
        assert_eq!(set(member("~nick", &[])), Ok(1));
        assert_eq!(set(OrgEdit::RemoveMember("~nick".parse().unwrap())), Ok(1));
        assert_eq!(set(OrgEdit::RemoveMember("~nick".parse().unwrap())), Err(Rejection::NotFound));
        assert!(state.members().is_empty());
    }

    #[test]
    fn past_its_limit_a_further_member_is_refused() {
        let mut state = acme();
        for n in 0..ORG_MEMBERS_MAX {
            let event = MemberSet {
                by: Actor::Operator,
                member: format!("~n{n}").parse().unwrap(),
                roles: Vec::new(),
            };
            state.evolve(TimestampMs(1), &OrgEvent::MemberSet(event));
        }
        assert_eq!(decide(&state, AUTHORIZED, "~acme", member("~nick", &[])), Err(Rejection::MembersFull));
        assert!(decide(&state, AUTHORIZED, "~acme", member("~n0", &["admin"])).is_ok());
    }
}
