//! `plenary doctor`: checks every link from a coding agent to the network and back, in order, and prints a remedy for
//! a broken one.
//! Must not know: how settings are written.

mod allowed;
mod server;
mod trip;

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::{
    connect::{self, CodingAgent, NO, Reach},
    context::Context,
    failure::{Exit, Failure},
    hook,
    identity::{ClientEntry, Clients, main_tree},
};
use crate::out::{Style, clean};
use allowed::Verdict;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Check only this coding agent [default: every coding agent connected in this directory]
    #[arg(long, value_name = "CODING AGENT")]
    client: Option<CodingAgent>,
}

/// The result of checking one link.
struct Finding {
    link: &'static str,
    about: String,
    outcome: Result<String, Failure>,
}

/// The findings so far; each is printed at once.
struct Report<'a> {
    context: &'a Context,
    findings: Vec<Value>,
    failed: bool,
}

impl Report<'_> {
    /// Prints a finding; returns whether the link works.
    fn print(&mut self, finding: &Finding) -> Result<bool, Failure> {
        let Finding { link, about, outcome } = finding;
        let (is_ok, detail, next) = match outcome {
            Ok(detail) => (true, detail.clone(), None),
            Err(failure) => {
                let (what, next) = super::explain::describe(self.context, failure);
                (false, what, next.map(|next| self.context.out.suggestion(&next)))
            }
        };
        self.failed |= !is_ok;
        self.findings
            .push(json!({"link": link, "client": about, "ok": is_ok, "detail": detail, "next": next}));
        if self.context.out.is_json() {
            return Ok(is_ok);
        }
        let out = self.context.out;
        let sign = if is_ok { out.paint(Style::Green, "ok  ") } else { out.paint(Style::Red, "FAIL") };
        let suffix = if about.is_empty() { String::new() } else { format!(" ({about})") };
        out.line(&format!("{sign}  {link}{suffix}: {}", clean(&detail)))?;
        if let Some(next) = next {
            out.line(&format!("      → {}", clean(&next)))?;
        }
        Ok(is_ok)
    }

    /// Prints that a link cannot be checked.
    fn unknown(&mut self, link: &'static str, about: &str, why: &str) -> Result<(), Failure> {
        self.findings.push(json!({"link": link, "client": about, "ok": null, "detail": why, "next": null}));
        if self.context.out.is_json() {
            return Ok(());
        }
        let out = self.context.out;
        let sign = out.paint(Style::Yellow, "?   ");
        Ok(out.line(&format!("{sign}  {link} ({about}): {}", clean(why)))?)
    }

    /// Prints the result of a check.
    fn record(
        &mut self,
        link: &'static str,
        about: &str,
        outcome: Result<String, Failure>,
    ) -> Result<bool, Failure> {
        self.print(&Finding { link, about: about.to_owned(), outcome })
    }
}

pub(crate) async fn run(context: &Context, args: Doctor) -> Result<(), Failure> {
    let mut report = Report { context, findings: Vec::new(), failed: false };
    let working_directory = context
        .environment
        .directory()
        .cloned()
        .ok_or_else(|| Failure::local("the working directory is gone"))?;
    // Below a connected directory, the same agents apply.
    let mut directory = working_directory.clone();
    for above in working_directory.ancestors() {
        if !Clients::load(&context.environment, above)?.0.is_empty() {
            directory = above.to_owned();
            break;
        }
    }
    let mut clients = Clients::load(&context.environment, &directory)?.0;
    let mut of_user = Clients::of_user(&context.environment)?.0;
    of_user.retain(|name, _| !clients.contains_key(name));
    for clients in [&mut clients, &mut of_user] {
        clients.retain(|name, _| args.client.is_none_or(|client| client.as_str() == name));
    }
    if clients.is_empty() && of_user.is_empty() {
        report.record("settings", "", Err(none_connected(context, &args, &working_directory)))?;
    }
    if report.record("server", "", server::answers(context).await)? {
        for (name, connected) in &clients {
            let Some(coding) = CodingAgent::named(name) else {
                continue;
            };
            examine(&mut report, coding, connected, &directory).await?;
        }
        for (name, entry) in of_user {
            let Some(coding) = CodingAgent::named(&name) else {
                continue;
            };
            match connect::first_use(context, coding, &working_directory).await {
                Ok(agent) => {
                    let connected = ClientEntry { agent: agent.unwrap_or(entry.agent), ..entry };
                    examine(&mut report, coding, &connected, &working_directory).await?;
                }
                Err(failure) => report.record("settings", &name, Err(failure)).map(drop)?,
            }
        }
    }
    if context.out.is_json() {
        let answer = json!({"ok": !report.failed, "checks": report.findings});
        context.out.line(&answer.to_string())?;
    } else if report.failed
        && let Some(file) = hook::journal_file(&context.environment).filter(|file| file.exists())
    {
        context.out.note(&format!("errors of hooks are in {}", file.display()));
    }
    if report.failed { Err(Failure::Reported(Exit::Refused)) } else { Ok(()) }
}

/// The failure if no coding agent is connected.
fn none_connected(context: &Context, args: &Doctor, directory: &Path) -> Failure {
    let client = args.client.map_or("claude", CodingAgent::as_str);
    let main = main_tree(directory)
        .filter(|main| Clients::load(&context.environment, main).is_ok_and(|clients| !clients.0.is_empty()));
    match main {
        Some(main) => Failure::local_with(
            format!("this worktree has no settings of its own; those of {} apply only there", main.display()),
            format!(
                "`plenary {client}` starts the same agent here; `plenary connect {client}` writes settings"
            ),
        ),
        None => Failure::local_with(
            "no coding agent is connected in this directory",
            format!("connect one: `plenary connect {client}`"),
        ),
    }
}

/// Checks the links of one coding agent. A link that depends on a broken one is not checked.
async fn examine(
    report: &mut Report<'_>,
    coding: CodingAgent,
    connected: &ClientEntry,
    directory: &Path,
) -> Result<(), Failure> {
    let (context, about) = (report.context, coding.as_str());
    if connected.plugin {
        report.record("settings", about, Ok("the plugin brings them".to_owned()))?;
        report.record("token", about, server::accepts(context, coding, &connected.agent).await)?;
        return Ok(());
    }
    let written =
        match connect::read_entries(context, coding, connected.agent.as_str(), &connected.scope, directory) {
            Ok(written) => written,
            Err(failure) => return report.record("settings", about, Err(failure)).map(drop),
        };
    if !report.record("settings", about, written.check_server())? {
        return Ok(());
    }
    if let Err(failure) = written.own(context, &connected.agent) {
        return report.record("settings", about, Err(failure)).map(drop);
    }
    let is_user = connected.scope != "project";
    match allowed::check(context, coding, is_user, directory) {
        Ok(Verdict::Unknown(unread)) => report.unknown("allowed", about, &unread)?,
        Ok(Verdict::Allowed(allowed)) => report.record("allowed", about, Ok(allowed)).map(drop)?,
        Err(failure) => report.record("allowed", about, Err(failure)).map(drop)?,
    }
    if !report.record("token", about, server::accepts(context, coding, &connected.agent).await)? {
        return Ok(());
    }
    let tools = server::offers_tools(context, &connected.agent, &written, None).await;
    let are_offered = report.record("tools", about, tools.map(|listed| listed.0))?;
    // Reported also if every hook is missing.
    if !written.expected.is_empty() {
        report.record("hook", about, trip::round(context, coding, connected, &written, directory).await)?;
        if let Some(held_back) = trip::held_back_by(context, &connected.agent).await? {
            report.unknown("attention", about, &held_back)?;
        }
    }
    // If no hook prints messages, a message arrives when the model reads its inbox; that path is checked instead.
    let accepts_text = written.expected.iter().any(|event| hook::accepts_text_at(coding, event));
    if !accepts_text && are_offered && written.program().is_some() {
        report.record("message", about, trip::round_by_tool(context, connected, &written).await)?;
    }
    let Reach { mid_turn, idle, headless, .. } = coding.reach();
    let idle = if idle == NO { "not before its next turn" } else { idle };
    let headless = if headless == NO { "not" } else { headless };
    let reach = format!(
        "when messages arrive: while it works, {mid_turn}; while it waits for its person, {idle}; without a person, {headless}"
    );
    report.record("reach", about, Ok(reach))?;
    Ok(())
}
