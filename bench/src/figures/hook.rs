//! P17: how long a coding agent waits for a hook, against a program that does nothing.
//! Must not know: what the hook answers, but that it does.

use std::{path::Path, process::Stdio, time::Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::{io::AsyncWriteExt as _, process::Command};

use super::percentile;
use crate::{
    bench::Bench,
    load::one,
    report::{Goal, Row, Series, Unit},
    world::{Agent, agents, sending, session},
};

/// What every answer with a message has in it.
const ANSWERED: &str = "additionalContext";

/// What is waited for.
#[derive(Clone, Copy)]
enum Waited {
    /// A program that does nothing.
    Nothing,
    /// The binary itself.
    Version,
    /// A hook, and whether there is a message for it.
    Hook(bool),
}

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let server = bench.server()?;
    let pair = agents(server.address(), "hook", 2).await?;
    let id = session(server.address(), &pair).await?;
    let (speaker, hearer) = (&pair[0], &pair[1]);
    let home = bench.fresh();
    std::fs::create_dir_all(&home)?;
    let url = format!("http://{}", server.address());
    let count = bench.sizes.timed.div_ceil(10);
    // Earlier messages are not news.
    let _first = timed(bench.plenary(), &home, &url, hearer, Waited::Hook(false)).await;
    let kinds = [Waited::Nothing, Waited::Version, Waited::Hook(false), Waited::Hook(true)];
    let mut series = kinds.map(|_| Series::default());
    for _ in 0..bench.sizes.rounds {
        let mut samples = kinds.map(|_| Vec::new());
        for _ in 0..count {
            for (kind, samples) in kinds.iter().zip(&mut samples) {
                if matches!(kind, Waited::Hook(true)) {
                    one(server.address(), &sending(&id, speaker)).await?;
                }
                samples.push(timed(bench.plenary(), &home, &url, hearer, *kind).await?);
            }
        }
        for (series, samples) in series.iter_mut().zip(&mut samples) {
            series.0.push(percentile(samples, 0.5)? / 1e3);
        }
    }
    server.stop().await?;
    let [nothing, version, quiet, news] = series;
    let row = |what: &str, figure, goal| Row {
        id: "P17",
        what: what.to_owned(),
        unit: Unit::Millis,
        figure,
        limit: Some(("/bin/true".to_owned(), nothing.clone())),
        goal,
        note: String::new(),
    };
    Ok(vec![
        row("`plenary --version`, from start to exit, p50", version, Goal::None),
        row("`plenary hook` with nothing new, p50", quiet, Goal::AtMost(30.0)),
        row("the same with a message, which is marked as seen, p50", news, Goal::AtMost(30.0)),
    ])
}

/// From the start of a process to its end, in nanoseconds.
async fn timed(plenary: &Path, home: &Path, url: &str, agent: &Agent, waited: Waited) -> Result<u64> {
    let program = if matches!(waited, Waited::Nothing) { Path::new("/bin/true") } else { plenary };
    let mut command = Command::new(program);
    match waited {
        Waited::Nothing => {}
        Waited::Version => drop(command.arg("--version")),
        Waited::Hook(_) => drop(command.args(["hook", "PostToolUse", "--client", "claude"])),
    }
    command.env_clear().env("HOME", home).env("PLENARY_URL", url);
    command.env("PLENARY_AS", &agent.handle).env("PLENARY_TOKEN", &agent.token);
    command.current_dir(home).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let input = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{}}"#;
    let begin = Instant::now();
    let mut child = command.spawn().context("the program does not start")?;
    let mut stdin = child.stdin.take().context("stdin is piped")?;
    // A program that does nothing does not read it either.
    let _unread = stdin.write_all(input).await;
    drop(stdin);
    let output = child.wait_with_output().await?;
    let took = u64::try_from(begin.elapsed().as_nanos())?;
    if let Waited::Hook(news) = waited {
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success() && text.contains(ANSWERED) == news, "the hook answered {text:?}");
    }
    Ok(took)
}
