//! `plenary context orient`: the briefing of a new session, readable for a person and for an agent.
//! Must not know: how a package is printed.

use clap::Args;
use plenary_client::context::Orientation;

use super::{render, target::ProjectTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{clean, counted, second},
};

#[derive(Debug, Args)]
pub(crate) struct Orient {
    /// How many days to look back on [default: 14]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, args: &Orient) -> Result<(), Failure> {
    let reply = target.client.orient(target.project()?, args.days).await?;
    context
        .answer(&reply, |bundle| Ok(markdown(bundle).iter().try_for_each(|line| context.out.line(line))?))
}

/// The briefing. Handoffs come first, because work continues there.
pub(crate) fn markdown(bundle: &Orientation) -> Vec<String> {
    let Orientation {
        project,
        recent_packages,
        active_facts,
        open_questions,
        window_days,
        generated_at,
        truncated,
    } = bundle;
    let name = if project.name.is_empty() { &project.project_id } else { &project.name };
    let mut lines = vec![format!("# {}", clean(name)), String::new()];
    lines.push(format!(
        "Project `{}`, the last {}, as of {}.",
        clean(&project.project_id),
        counted(*window_days, "day"),
        second(generated_at)
    ));
    if let Some(archived_at) = &project.archived_at {
        lines.push(format!("It has been archived since {} and accepts no writes.", second(archived_at)));
    }
    if !project.description.trim().is_empty() {
        lines.extend([String::new(), clean(project.description.trim()).into_owned()]);
    }
    if let Some(last) = recent_packages.iter().find(|package| !package.handoff_note.trim().is_empty()) {
        lines.extend(render::list("Handed over to you", [last.handoff_note.as_str()]));
        lines.push(format!("  (by {}, `{}`)", render::actor(&last.created_by), clean(&last.package_id)));
    }
    let waiting = recent_packages.iter().filter(|package| package.status == "awaiting_review");
    let waiting: Vec<String> = waiting
        .map(|package| {
            let (title, id) = (clean(&package.title), clean(&package.package_id));
            format!("- {title} `{id}`: do not build on it before {} approves", article(&package.review_type))
        })
        .collect();
    if !waiting.is_empty() {
        lines.extend(render::section("Waits for review", waiting));
    }
    if !open_questions.is_empty() {
        lines
            .extend(render::section("Open questions", open_questions.iter().map(render::question).collect()));
    }
    if !active_facts.is_empty() {
        lines.extend(render::section("Facts", active_facts.iter().map(render::fact).collect()));
    }
    let recent: Vec<String> = recent_packages.iter().flat_map(render::brief).collect();
    let none = || vec![format!("Nothing was deposited in the last {}.", counted(*window_days, "day"))];
    lines.extend(render::section("Recent work", if recent.is_empty() { none() } else { recent }));
    if !truncated.is_empty() {
        let lists: Vec<_> = truncated.iter().map(|list| clean(list)).collect();
        lines.extend([String::new(), format!("More exists than is shown: {}.", lists.join(", "))]);
    }
    lines
}

/// The reviewer in words.
fn article(review_type: &str) -> String {
    match review_type {
        "agent" => "an agent".to_owned(),
        "human" => "a human".to_owned(),
        "none" => "somebody".to_owned(),
        other => clean(other).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ap_61_a_briefing_begins_with_the_handoff() {
        let package = |id: &str, status: &str, handoff: &str| {
            json!({"package_id": id, "project_id": "p", "title": format!("Title {id}"), "status": status,
                "package_type": "standard", "review_type": "human", "created_at": "2026-04-18T20:00:00Z",
                "created_by": {"id": "@a.b", "type": "agent"}, "handoff_note": handoff})
        };
        let bundle: Orientation = serde_json::from_value(json!({
            "project": {"project_id": "p", "name": "Parser"},
            "recent_packages": [package("2", "awaiting_review", ""), package("1", "complete", "Start here.\n# no")],
            "active_facts": [{"fact_id": "f", "project_id": "p", "subject": "lexer", "predicate": "state", "value": "done",
                "valid_from": "2026-04-18T20:00:00Z", "created_at": "2026-04-18T20:00:00Z", "confidence": 0.5}],
            "open_questions": [{"question": "why?", "package_id": "1", "created_at": "2026-04-18T20:00:00Z"}],
            "window_days": 14, "generated_at": "2026-04-18T20:00:00Z",
        }))
        .unwrap();
        let text = markdown(&bundle).join("\n");
        let order = [
            "# Parser",
            "## Handed over to you\n\n- Start here.\n  # no\n  (by @a.b (agent), `1`)",
            "## Waits for review",
            "- Title 2 `2`: do not build on it before a human approves",
            "## Open questions",
            "- why?",
            "- lexer state: **done** (since 2026-04-18 20:00:00Z, confidence 0.5)",
            "## Recent work",
            "- **Title 2**",
        ];
        let mut offset = 0;
        for piece in order {
            offset += text[offset..].find(piece).unwrap_or_else(|| panic!("{piece}: {text}"));
        }
    }
}
