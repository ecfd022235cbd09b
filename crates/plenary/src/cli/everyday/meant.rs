//! Suggestions of similar handles for a handle that reaches no agent.
//! Must not know: agents that the speaker cannot contact; the server names none.

use plenary_client::{Client, Error};
use plenary_kernel::AgentHandle;

use crate::cli::failure::Failure;

/// How like two handles are that may be mistaken for each other: 1 is the same.
const LIKE: f64 = 0.85;
/// How many are named.
const NAMED_MAX: usize = 3;

/// A refusal that is the same for an agent that there is not and for one out of reach, with those within reach that are
/// called alike.
pub(super) async fn unreached(client: &Client, error: Error, to: &[AgentHandle]) -> Failure {
    let mut reach = Vec::new();
    let mut cursor = None;
    // A list that cannot be had names nobody.
    while let Ok(page) = client.reachable(None, None, cursor.as_deref()).await {
        reach.extend(page.value.agents.iter().map(|agent| agent.handle.clone()));
        cursor = page.value.next_cursor.clone();
        if cursor.is_none() || reach.len() >= 1_000 {
            break;
        }
    }
    let missed: Vec<&AgentHandle> = to.iter().filter(|agent| !reach.contains(agent)).collect();
    let named: Vec<&str> = missed.iter().map(|agent| agent.as_str()).collect();
    let alike: Vec<&str> =
        missed.iter().flat_map(|agent| like(agent, &reach)).map(AgentHandle::as_str).collect();
    let whom = if named.is_empty() { "one of them".to_owned() } else { named.join(", ") };
    let next = if alike.is_empty() {
        format!(
            "you do not reach {whom}: it is not there, or one of the two does not allow the other. `plenary who` lists whom \
             you reach; `plenary contact request @OWNER.NAME` asks to be allowed"
        )
    } else {
        format!(
            "did you mean {}? You do not reach {whom}; `plenary who` lists whom you reach",
            alike.join(" or ")
        )
    };
    Failure::Refused { error, next }
}

/// Those that are called alike, the most alike first.
fn like<'a>(wanted: &AgentHandle, known: &'a [AgentHandle]) -> Vec<&'a AgentHandle> {
    let likeness = |agent: &AgentHandle| {
        let whole = strsim::jaro_winkler(wanted.as_str(), agent.as_str());
        // The name alone, as of an agent of another owner, or one whose directory was left out.
        let is_part =
            agent.name().split('-').any(|part| part == wanted.name()) || wanted.name() == agent.name();
        if is_part { whole.max(LIKE) } else { whole }
    };
    let mut found: Vec<(f64, &AgentHandle)> = known
        .iter()
        .map(|agent| (likeness(agent), agent))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(NAMED_MAX).map(|(_, agent)| agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_found_and_a_stranger_is_not() {
        let handle = |text: &str| text.parse::<AgentHandle>().unwrap();
        let known = [handle("@nick.claude-parser"), handle("@nick.codex-web"), handle("@acme.support")];
        for (wrong, meant) in [
            ("@nick.claude-praser", Some("@nick.claude-parser")),
            ("@nick.parser", Some("@nick.claude-parser")),
            ("@acne.support", Some("@acme.support")),
            ("@zoe.zebra", None),
        ] {
            assert_eq!(like(&handle(wrong), &known).first().map(|agent| agent.as_str()), meant, "{wrong}");
        }
    }
}
