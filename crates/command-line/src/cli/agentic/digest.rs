//! `plenary context orchestrate` and `conformance`.
//! Must not know: how a package is printed.

use clap::Args;
use plenary_client::context::{Conformance, Digest};

use super::{render, target::ProjectTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{clean, clean_block, counted},
};

/// Over what.
#[derive(Debug, Args)]
pub(crate) struct Orchestrate {
    /// Show the parts of packages that match this text, best match first
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// Number of parts to show at most, up to 200 [default: 25]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    snippets: Option<u32>,
    /// How many days to look back on [default: 14]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
    /// Cover all projects
    #[arg(long)]
    all: bool,
    /// With --all, include archived projects
    #[arg(long, requires = "all")]
    include_archived: bool,
}

impl Orchestrate {
    /// Whether it is about all projects.
    pub(super) fn covers_all(&self) -> bool {
        self.all
    }
}

pub(super) async fn run(
    context: &Context,
    target: &ProjectTarget,
    args: &Orchestrate,
) -> Result<(), Failure> {
    let project = if args.all { None } else { target.project_if_any() };
    let Orchestrate { focus, snippets, days, include_archived, .. } = args;
    let reply =
        target.client.orchestrate(project, focus.as_deref(), *snippets, *days, *include_archived).await?;
    context
        .answer(&reply, |bundle| Ok(markdown(bundle).iter().try_for_each(|line| context.out.line(line))?))
}

fn markdown(bundle: &Digest) -> Vec<String> {
    let over = bundle.project.as_ref().map_or("all projects".into(), |project| clean(&project.project_id));
    let mut lines =
        vec![format!("# Digest of {over}"), String::new(), clean(&bundle.summary.text).into_owned()];
    if bundle.summary.truncated {
        lines.push("The digest is incomplete: a limit of the server was reached.".to_owned());
    }
    if let Some(projects) = &bundle.projects {
        let line = |project: &plenary_client::context::DigestProject| {
            let id = clean(&project.project_id);
            let (packages, facts) = (counted(project.packages, "package"), counted(project.facts, "fact"));
            format!("- {id}: {packages}, {facts}, {}", counted(project.open_questions, "open question"))
        };
        let lines_of: Vec<String> = projects.iter().map(line).collect();
        if !lines_of.is_empty() {
            lines.extend(render::section("Projects", lines_of));
        }
    }
    if let Some(focus) = &bundle.focus {
        let snippet = |snippet: &plenary_client::context::Snippet| {
            let (kind, text) = (clean(&snippet.content_type), clean_block(snippet.content.trim(), "  "));
            format!("- {kind}: {text} (`{}`)", clean(&snippet.package_id))
        };
        let snippets: Vec<String> = bundle.snippets.iter().map(snippet).collect();
        let none = || vec!["Nothing matches.".to_owned()];
        let snippets = if snippets.is_empty() { none() } else { snippets };
        lines.extend(render::section(&format!("About: {}", clean(focus)), snippets));
    }
    if !bundle.open_questions.is_empty() {
        let questions = bundle.open_questions.iter().map(render::question).collect();
        lines.extend(render::section("Open questions", questions));
    }
    if !bundle.active_facts.is_empty() {
        lines.extend(render::section("Facts", bundle.active_facts.iter().map(render::fact).collect()));
    }
    lines
}

/// Shows which parts of the protocol the server implements; needs no token.
pub(super) async fn conformance(context: &Context) -> Result<(), Failure> {
    let reply = context.client()?.conformance().await?;
    context.answer(&reply, |Conformance { protocol_version, conformance_level, capabilities }| {
        let (version, level) = (clean(protocol_version), clean(conformance_level));
        context.out.line(&format!("Agentic Protocol {version}, {level}"))?;
        for (name, has) in capabilities {
            let has = match has.as_bool() {
                Some(true) => "yes".to_owned(),
                Some(false) => "no".to_owned(),
                None => has.to_string(),
            };
            context.out.line(&format!("  {}: {}", clean(name), clean(&has)))?;
        }
        Ok(())
    })
}
