//! Suggestions of similar handles for a handle that reaches no agent.
//! Must not know: agents that the caller cannot contact, beside those whose settings a token on this machine shows.

use plenary_client::{
    Client, Error,
    accounts::{Agent, Policy},
};
use plenary_kernel::AgentHandle;

use crate::cli::{
    context::Context,
    failure::Failure,
    identity::{Holder, Realm},
};

/// The minimum similarity for a suggestion; 1 means equal.
const LIKE: f64 = 0.85;
/// Maximum number of suggestions.
const NAMED_MAX: usize = 3;
/// Maximum number of reachable agents that are searched.
const REACH_MAX: usize = 1_000;

/// Explains a denial with what the caller may know: the allowlists of recipients that a token on this machine shows, the
/// recipients that its own allowlist does not name, and reachable agents with similar handles. Without such a token, the text is
/// the same for a missing agent and an unreachable one.
pub(super) async fn unreached(
    context: &Context,
    client: &Client,
    error: Error,
    to: &[AgentHandle],
) -> Failure {
    let reach = reach(client).await;
    let missed: Vec<&AgentHandle> = to.iter().filter(|agent| !reach.contains(agent)).collect();
    let me = client.me().await.ok().map(|me| me.value);
    let mut shown = Vec::new();
    for agent in &missed {
        shown.extend(settings_of(context, agent).await);
    }
    if let Some(next) = me.as_ref().and_then(|me| one_sided(me, &shown)) {
        return Failure::Refused { error, next };
    }
    let names: Vec<&str> = missed.iter().map(|agent| agent.as_str()).collect();
    let exists =
        |agent: &AgentHandle| shown.iter().any(|shown| shown.handle == *agent) || is_saved(context, agent);
    let alike: Vec<&str> = missed
        .iter()
        .filter(|agent| !exists(agent))
        .flat_map(|agent| like(agent, &reach))
        .map(AgentHandle::as_str)
        .collect();
    let recipients = if names.is_empty() { "one of them".to_owned() } else { names.join(", ") };
    let next = if alike.is_empty()
        && let Some(next) = me.and_then(|me| unlisted(&me, to))
    {
        next
    } else if alike.is_empty() {
        format!(
            "you cannot contact {recipients}: it does not exist, or one of the two does not allow the other. `plenary who` lists the \
             agents that you can contact; `plenary contact request @OWNER.NAME` asks to be allowed"
        )
    } else {
        format!(
            "did you mean {}? You cannot contact {recipients}; `plenary who` lists the agents that you can contact",
            alike.join(" or ")
        )
    };
    Failure::Refused { error, next }
}

/// Whether the agent's token is saved here.
fn is_saved(context: &Context, agent: &AgentHandle) -> bool {
    let (file, server) = (context.tokens_file(), context.server());
    let (Some(Ok(tokens)), Ok(server)) = (file.map(|file| file.load()), server) else { return false };
    tokens.of(&server).get(&Holder::Agent(agent.clone())).is_some()
}

/// The settings of an agent, if a token on this machine shows them: its own, its owner's or the operator's. Not for a caller with
/// a given token, which must not show more than that token does.
async fn settings_of(context: &Context, agent: &AgentHandle) -> Option<Agent> {
    if context.given_token().ok()?.is_some() {
        return None;
    }
    if let Ok(Some(client)) = context.saved_client(agent)
        && let Ok(own) = client.me().await
    {
        return Some(own.value);
    }
    let client = context.configuring_client(Realm::Owner(&agent.owner_name())).ok()?;
    client.agent(agent).await.ok().map(|reply| reply.value)
}

/// The commands that let the caller and these agents contact each other, if an allowlist is in the way.
fn one_sided(me: &Agent, others: &[Agent]) -> Option<String> {
    let admits = |agent: &Agent, other: &AgentHandle| {
        agent.policy != Policy::Allowlist || agent.allowlist.iter().any(|entry| entry.matches(other))
    };
    let allow = |agent: &Agent, other: &AgentHandle| {
        let entry = if agent.handle.owner() == other.owner() {
            format!("'@{}.*'", other.owner())
        } else {
            other.to_string()
        };
        format!("`plenary agent allow {} {entry}`", agent.handle)
    };
    let mut steps = Vec::new();
    for other in others {
        if !admits(other, &me.handle) {
            steps.push(format!("{} does not list {}: {}", other.handle, me.handle, allow(other, &me.handle)));
        }
        if !admits(me, &other.handle) {
            steps.push(format!("{} does not list {}: {}", me.handle, other.handle, allow(me, &other.handle)));
        }
    }
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// What to do if the caller's own policy excludes some of these agents, whether they exist or not.
fn unlisted(me: &Agent, to: &[AgentHandle]) -> Option<String> {
    let is_named = |agent: &AgentHandle| me.allowlist.iter().any(|entry| entry.matches(agent));
    let missing: Vec<&str> = to.iter().filter(|agent| !is_named(agent)).map(AgentHandle::as_str).collect();
    if me.policy != Policy::Allowlist || missing.is_empty() {
        return None;
    }
    Some(format!(
        "your own allowlist does not name {}. Your owner adds it with `plenary agent allow {} {}`; `plenary who` lists the agents \
         that you can contact",
        missing.join(", "),
        me.handle,
        missing.join(" ")
    ))
}

/// The reachable agents with a handle similar to the text, if no handle contains it.
pub(super) async fn similar_handles(client: &Client, text: &str) -> Vec<AgentHandle> {
    let reach = reach(client).await;
    named_like(text, &reach).into_iter().cloned().collect()
}

async fn reach(client: &Client) -> Vec<AgentHandle> {
    let mut reach = Vec::new();
    let mut cursor = None;
    // If the list cannot be read, there are no suggestions.
    while let Ok(page) = client.reachable(None, None, cursor.as_deref()).await {
        reach.extend(page.value.agents.iter().map(|agent| agent.handle.clone()));
        cursor = page.value.next_cursor.clone();
        if cursor.is_none() || reach.len() >= REACH_MAX {
            break;
        }
    }
    reach
}

/// The handles that are similar to the text, or have a similar part; most similar first.
fn named_like<'a>(text: &str, known: &'a [AgentHandle]) -> Vec<&'a AgentHandle> {
    let target = text.trim_start_matches('@').to_lowercase();
    let likeness = |agent: &AgentHandle| {
        let handle = agent.as_str().trim_start_matches('@');
        let parts = handle.split(['.', '-']).chain([handle, agent.name()]);
        parts.map(|part| strsim::jaro_winkler(&target, part)).fold(0.0, f64::max)
    };
    most_alike(known, likeness)
}

/// The similar handles, most similar first.
fn like<'a>(target: &AgentHandle, known: &'a [AgentHandle]) -> Vec<&'a AgentHandle> {
    let likeness = |agent: &AgentHandle| {
        let whole = strsim::jaro_winkler(target.as_str(), agent.as_str());
        // The name alone, as for an agent of another owner, or one whose directory suffix was omitted.
        let is_part =
            agent.name().split('-').any(|part| part == target.name()) || target.name() == agent.name();
        if is_part { whole.max(LIKE) } else { whole }
    };
    most_alike(known, likeness)
}

fn most_alike(known: &[AgentHandle], likeness: impl Fn(&AgentHandle) -> f64) -> Vec<&AgentHandle> {
    let mut similar: Vec<(f64, &AgentHandle)> = known
        .iter()
        .map(|agent| (likeness(agent), agent))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0));
    similar.into_iter().take(NAMED_MAX).map(|(_, agent)| agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_is_found_and_a_different_handle_is_not() {
        let handle = |text: &str| text.parse::<AgentHandle>().unwrap();
        let known = [handle("@nick.claude-parser"), handle("@nick.codex-web"), handle("@acme.support")];
        for (wrong, expected) in [
            ("@nick.claude-praser", Some("@nick.claude-parser")),
            ("@nick.parser", Some("@nick.claude-parser")),
            ("@acne.support", Some("@acme.support")),
            ("@zoe.zebra", None),
        ] {
            assert_eq!(like(&handle(wrong), &known).first().map(|agent| agent.as_str()), expected, "{wrong}");
        }
    }

    #[test]
    fn the_callers_own_allowlist_is_named_as_the_reason() {
        let agent = |policy: &str, allowlist: &[&str]| -> Agent {
            let json = serde_json::json!({"handle": "@lea.parser", "policy": policy, "allowlist": allowlist});
            serde_json::from_value(json).unwrap()
        };
        let to = ["@lea.lea".parse().unwrap(), "@acme.x".parse().unwrap()];
        let reason = unlisted(&agent("allowlist", &["@acme.*"]), &to).unwrap();
        assert!(
            reason.contains("does not name @lea.lea. ") && reason.contains("allow @lea.parser @lea.lea`")
        );
        assert_eq!(unlisted(&agent("allowlist", &["@acme.*", "@lea.lea"]), &to), None);
        assert_eq!(unlisted(&agent("open", &[]), &to), None);
    }

    #[test]
    fn allowlists_in_the_way_are_named_with_the_commands_that_change_them() {
        let agent = |handle: &str, policy: &str, allowlist: &[&str]| -> Agent {
            let json = serde_json::json!({"handle": handle, "policy": policy, "allowlist": allowlist});
            serde_json::from_value(json).unwrap()
        };
        let me = agent("@nick.nick", "open", &[]);
        let said = one_sided(&me, &[agent("@nick.parser", "allowlist", &[])]).unwrap();
        assert!(
            said.ends_with("does not list @nick.nick: `plenary agent allow @nick.parser '@nick.*'`"),
            "{said}"
        );
        assert_eq!(one_sided(&me, &[agent("@nick.parser", "allowlist", &["@nick.*"])]), None);
        let me = agent("@nick.a", "allowlist", &[]);
        let said = one_sided(&me, &[agent("@acme.x", "open", &[])]).unwrap();
        assert_eq!(said, "@nick.a does not list @acme.x: `plenary agent allow @nick.a @acme.x`");
    }

    #[test]
    fn a_text_is_compared_with_every_part_of_a_handle() {
        let known = ["@nick.claude-parser", "@acme.support"].map(|text| text.parse::<AgentHandle>().unwrap());
        for (text, expected) in [
            ("praser", Some("@nick.claude-parser")),
            ("nick.claude-praser", Some("@nick.claude-parser")),
            ("Suport", Some("@acme.support")),
            ("zebra", None),
        ] {
            assert_eq!(named_like(text, &known).first().map(|agent| agent.as_str()), expected, "{text}");
        }
    }
}
