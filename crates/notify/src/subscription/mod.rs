//! Subscriptions as the engine sees them: the streams `notify.owner/<owner>`, and the commands on them.
//! Must not know: HTTP.

pub(crate) mod event;
pub(crate) mod state;

use plenary_accounts::{Authority, TokenDigest};
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room};
use plenary_kernel::{OwnerName, Stamp, SubscriptionId, TimestampMs, Version};
use plenary_log::Fault;

use crate::{
    Notify, SUBSCRIPTIONS_MAX,
    signature::Secret,
    wire::{SubscriptionChange, Target},
};
use event::{Subscription, SubscriptionEvent, SubscriptionRemoved, SubscriptionSet};
use state::SubscriptionsState;

/// The streams `notify.owner/<owner>`.
#[derive(Debug)]
pub(crate) struct SubscriptionRoom;

impl Room for SubscriptionRoom {
    type State = SubscriptionsState;
    type Event = SubscriptionEvent;
    const CATEGORY: &'static str = "notify.owner";
    const SNAPSHOT_FORM: u16 = 3;

    fn evolve(state: &mut SubscriptionsState, version: Version, at: TimestampMs, event: &SubscriptionEvent) {
        state.evolve(version, at, event);
    }
    fn payer(owner: &str, _: &SubscriptionsState, event: &SubscriptionEvent) -> Option<OwnerName> {
        match event {
            SubscriptionEvent::SubscriptionSet(_) => owner.parse().ok(),
            SubscriptionEvent::SubscriptionRemoved(_) => None,
        }
    }
}

/// A command on a subscription.
#[derive(Debug, Clone)]
pub(crate) enum SubscriptionStep {
    /// Creates one; the id in the argument is ignored.
    Make(Box<Subscription>),
    Change(SubscriptionId, Box<SubscriptionChange>),
    Remove(SubscriptionId),
    /// Marks a receiver as gone, if it is still the subscription's target.
    Gone(SubscriptionId, Box<Target>),
}

/// A command on an owner's subscriptions.
pub(crate) struct SubscriptionCommand<'a> {
    pub(crate) notify: &'a Notify,
    pub(crate) authority: Authority,
    pub(crate) step: SubscriptionStep,
}

/// Why a command is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The subscription does not exist.
    NoSuchSubscription,
    /// The limit is reached.
    TooMany,
}

/// The facts of a command from other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubscriptionFacts {
    /// Whether the token is still valid.
    pub(crate) holds: bool,
    /// The proof of the rule by which the actor signed in at an issuer, if it did.
    pub(crate) through: Option<TokenDigest>,
}

/// The result of a command.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct SubscriptionResult {
    pub(crate) id: SubscriptionId,
    /// For a new subscription: its secret.
    pub(crate) secret: Option<Secret>,
}

impl Command<SubscriptionRoom> for SubscriptionCommand<'_> {
    const NAME: &'static str = "do_subscription";
    type Reply = SubscriptionResult;
    type Rejection = Rejection;
    type Facts = SubscriptionFacts;

    async fn facts(
        &self,
        _: &SubscriptionsState,
        conditions: &mut Conditions,
    ) -> Result<SubscriptionFacts, Fault> {
        let accounts = self.notify.accounts();
        let holds = accounts.holds(&self.authority, conditions).await?;
        let through = accounts.signed_in_through(&self.authority).await?;
        Ok(SubscriptionFacts { holds, through })
    }

    fn decide(
        &self,
        state: &SubscriptionsState,
        facts: &SubscriptionFacts,
        at: &Point,
    ) -> Decided<SubscriptionRoom, Self> {
        if facts.holds {
            decide(state, &at.stamp, (&self.authority, facts.through), &self.step)
        } else {
            Err(Rejection::Unauthenticated)
        }
    }

    fn exceeds_quota(&self) -> bool {
        matches!(self.step, SubscriptionStep::Remove(_) | SubscriptionStep::Gone(..))
    }
}

fn decide(
    state: &SubscriptionsState,
    stamp: &Stamp,
    (authority, through): (&Authority, Option<TokenDigest>),
    step: &SubscriptionStep,
) -> Result<Decision<SubscriptionEvent, SubscriptionResult>, Rejection> {
    let by = authority.by.clone();
    let find = |id: &SubscriptionId| state.get(id).cloned().ok_or(Rejection::NoSuchSubscription);
    let set = |subscription| {
        SubscriptionEvent::SubscriptionSet(Box::new(SubscriptionSet { subscription, by: by.clone() }))
    };
    match step {
        SubscriptionStep::Make(subscription) => {
            if state.all.len() >= SUBSCRIPTIONS_MAX {
                return Err(Rejection::TooMany);
            }
            let id = SubscriptionId::mint(stamp, 0);
            let created = Subscription { id: id.clone(), through, ..(**subscription).clone() };
            let secret = Some(created.secret.clone());
            Ok(Decision::new(vec![set(created)], SubscriptionResult { id, secret }))
        }
        SubscriptionStep::Change(id, change) => {
            let (before, reply) = (find(id)?, SubscriptionResult { id: id.clone(), secret: None });
            let after = changed(before.clone(), change, through);
            let events = if after == before { Vec::new() } else { vec![set(after)] };
            Ok(Decision::new(events, reply))
        }
        SubscriptionStep::Gone(id, target) => {
            let (before, reply) = (find(id)?, SubscriptionResult { id: id.clone(), secret: None });
            // A report about an earlier receiver does not apply to the current one.
            let after = if before.target == **target {
                Subscription { enabled: false, gone: true, ..before.clone() }
            } else {
                before.clone()
            };
            let events = if after == before { Vec::new() } else { vec![set(after)] };
            Ok(Decision::new(events, reply))
        }
        SubscriptionStep::Remove(id) => {
            find(id)?;
            let event = SubscriptionEvent::SubscriptionRemoved(SubscriptionRemoved { id: id.clone(), by });
            Ok(Decision::new(vec![event], SubscriptionResult { id: id.clone(), secret: None }))
        }
    }
}

/// Applies a change to a subscription; one whose receiver was gone is used again once `target` or `enabled` is set. Who sets
/// the receiver determines how long it counts.
fn changed(
    mut subscription: Subscription,
    change: &SubscriptionChange,
    through: Option<TokenDigest>,
) -> Subscription {
    let SubscriptionChange {
        target,
        name,
        events,
        kinds,
        agents,
        person,
        min_urgency,
        quiet,
        digest_minutes,
        enabled,
    } = change.clone();
    if target.is_some() || enabled == Some(true) {
        subscription.gone = false;
    }
    if target.is_some() {
        subscription.through = through;
    }
    subscription.target = target.unwrap_or(subscription.target);
    subscription.name = name.unwrap_or(subscription.name);
    subscription.events = events.unwrap_or(subscription.events);
    subscription.kinds = kinds.unwrap_or(subscription.kinds);
    subscription.agents = agents.unwrap_or(subscription.agents);
    subscription.person = person.unwrap_or(subscription.person);
    subscription.min_urgency = min_urgency.unwrap_or(subscription.min_urgency);
    subscription.quiet = quiet.unwrap_or(subscription.quiet);
    subscription.digest_minutes = digest_minutes.unwrap_or(subscription.digest_minutes);
    subscription.enabled = enabled.unwrap_or(subscription.enabled);
    subscription
}

#[cfg(test)]
pub(crate) mod tests {
    use plenary_accounts::Actor;

    use super::*;
    use crate::{
        message::tests::notice,
        wire::{Event, Notice, RequestSummary, Urgency},
    };
    use plenary_kernel::AgentHandle;

    pub(crate) fn subscription() -> Subscription {
        Subscription {
            id: SubscriptionId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0),
            target: Target::Webhook { url: "https://example.org/hook".into() },
            secret: Secret::of([7; 32]),
            name: None,
            events: vec![Event::Created],
            kinds: Vec::new(),
            agents: Vec::new(),
            person: None,
            min_urgency: Urgency::Low,
            quiet: None,
            digest_minutes: None,
            enabled: true,
            gone: false,
            through: None,
        }
    }

    fn done(
        state: &mut SubscriptionsState,
        ms: u64,
        step: &SubscriptionStep,
    ) -> Result<SubscriptionResult, Rejection> {
        done_through(state, ms, step, None)
    }

    fn done_through(
        state: &mut SubscriptionsState,
        ms: u64,
        step: &SubscriptionStep,
        through: Option<TokenDigest>,
    ) -> Result<SubscriptionResult, Rejection> {
        let stamp = Stamp::new(TimestampMs(ms), [0; 10]);
        let authority = Authority { by: Actor::Operator, token: None };
        let decided = decide(state, &stamp, (&authority, through), step)?;
        decided.events.iter().for_each(|event| state.evolve(Version(ms), TimestampMs(ms), event));
        Ok(decided.reply)
    }

    #[test]
    fn an_owner_has_a_limited_number_of_subscriptions() {
        let mut state = SubscriptionsState::default();
        let make = || SubscriptionStep::Make(Box::new(subscription()));
        for nth in 0..SUBSCRIPTIONS_MAX as u64 {
            done(&mut state, nth, &make()).unwrap();
        }
        assert_eq!(done(&mut state, 99, &make()).unwrap_err(), Rejection::TooMany);
        let first = state.all.keys().next().unwrap().clone();
        done(&mut state, 100, &SubscriptionStep::Remove(first.clone())).unwrap();
        assert_eq!(
            done(&mut state, 101, &SubscriptionStep::Remove(first)).unwrap_err(),
            Rejection::NoSuchSubscription
        );
        done(&mut state, 102, &make()).unwrap();
    }

    #[test]
    fn a_receiver_that_is_gone_gets_nothing_until_it_is_set_again() {
        let mut state = SubscriptionsState::default();
        let id = done(&mut state, 1, &SubscriptionStep::Make(Box::new(subscription()))).unwrap().id;
        let later = Notice { at: 9, ..notice(Event::Created) };
        assert_eq!(state.matching(&later).count(), 1);
        let target = subscription().target;
        done(&mut state, 2, &SubscriptionStep::Gone(id.clone(), Box::new(target))).unwrap();
        assert_eq!(state.matching(&later).count(), 0);
        let change = SubscriptionChange { enabled: Some(true), ..SubscriptionChange::default() };
        done(&mut state, 3, &SubscriptionStep::Change(id.clone(), Box::new(change))).unwrap();
        assert!(!state.get(&id).unwrap().gone);
        assert_eq!(state.matching(&later).count(), 1);
    }

    #[test]
    fn given_another_target_meanwhile_when_the_earlier_one_is_gone_then_nothing_changes() {
        let mut state = SubscriptionsState::default();
        let id = done(&mut state, 1, &SubscriptionStep::Make(Box::new(subscription()))).unwrap().id;
        let target = Target::Webhook { url: "https://example.org/other".into() };
        let change = SubscriptionChange { target: Some(target), ..SubscriptionChange::default() };
        done(&mut state, 2, &SubscriptionStep::Change(id.clone(), Box::new(change))).unwrap();
        let before = state.clone();
        done(&mut state, 3, &SubscriptionStep::Gone(id, Box::new(subscription().target))).unwrap();
        assert_eq!(state, before);
    }

    #[test]
    fn a_receiver_depends_on_the_rule_by_which_whoever_set_it_signed_in() {
        let mut state = SubscriptionsState::default();
        let rule = Some(TokenDigest::of("rule"));
        let make = SubscriptionStep::Make(Box::new(subscription()));
        let id = done_through(&mut state, 1, &make, rule).unwrap().id;
        assert_eq!(state.get(&id).unwrap().through, rule);
        let rename = SubscriptionChange { name: Some(Some("mine".into())), ..SubscriptionChange::default() };
        let to = SubscriptionChange { target: Some(subscription().target), ..SubscriptionChange::default() };
        for (change, by, through) in
            [(rename.clone(), None, rule), (to.clone(), None, None), (rename, rule, None), (to, rule, rule)]
        {
            done_through(&mut state, 2, &SubscriptionStep::Change(id.clone(), Box::new(change)), by).unwrap();
            assert_eq!(state.get(&id).unwrap().through, through);
        }
    }

    #[test]
    fn a_subscription_gets_the_notices_that_match_its_filter() {
        let about = notice(Event::Created).request;
        let subscription = subscription();
        assert!(subscription.matches(Event::Created, &about));
        assert!(!subscription.matches(Event::Answered, &about));
        assert!(
            !Subscription { min_urgency: Urgency::High, ..subscription.clone() }
                .matches(Event::Created, &about)
        );
        let kinds = vec![plenary_requests::Kind::Review];
        assert!(!Subscription { kinds, ..subscription.clone() }.matches(Event::Created, &about));
        let agents = vec!["@ann.codex".parse().unwrap()];
        assert!(!Subscription { agents, ..subscription.clone() }.matches(Event::Created, &about));
        let handle = |text: &str| Some(text.parse::<AgentHandle>().unwrap());
        let bobs = Subscription { person: handle("@ann.bob"), ..subscription.clone() };
        for (to, matches_person) in [(None, true), (Some("@ann.bob"), true), (Some("@ann.cleo"), false)] {
            let about = RequestSummary { to: to.and_then(handle), ..about.clone() };
            assert_eq!(bobs.matches(Event::Created, &about), matches_person, "{to:?}");
            assert!(subscription.matches(Event::Created, &about), "{to:?}");
        }
    }
}
