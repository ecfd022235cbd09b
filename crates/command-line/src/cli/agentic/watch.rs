//! `plenary context watch`: the events of a project, live and across disconnects, until Ctrl-C.
//! Must not know: how the stream is resumed.

use clap::Args;
use plenary_client::{StreamOptions, context::ContextEvent};
use serde_json::Value;

use super::target::ProjectTarget;
use crate::{
    cli::{context::Context, failure::Failure, stream},
    out::{Out, Style, clean, second},
};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary context watch --types package,fact.asserted")]
pub(crate) struct Watch {
    /// Start after the event with this id; 0 starts at the beginning
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Only these event types or families, separated by commas, e.g. `package,fact.asserted`
    #[arg(long, value_name = "TYPES")]
    types: Option<String>,
    /// Wait for the server if it is not up yet
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(context: &Context, target: &ProjectTarget, args: Watch) -> Result<(), Failure> {
    let options = StreamOptions { wait_for_server: args.wait, ..StreamOptions::default() };
    let project = target.project()?;
    let out = context.out;
    let mut events = target.client.context_events(project, args.types.as_deref(), args.after, options);
    let opened = format!("watching {}; stop with Ctrl-C", clean(project));
    stream::follow(out, async || events.next().await, &opened, |event| Some(line(out, event))).await
}

/// The time, type, actor and subject of an event; under `--json` as the server sent it.
fn line(out: Out, event: &ContextEvent) -> String {
    if out.is_json() {
        return event.json.clone();
    }
    let data: Value = serde_json::from_str(&event.json).unwrap_or_default();
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
    let id = event.id.as_deref().map(|id| format!("#{id}")).unwrap_or_default();
    format!(
        "{} {} {} {}",
        out.paint(Style::Dim, &clean(&format!("{} {id}", second(text("/at").unwrap_or_default())))),
        out.paint(Style::Bold, &clean(text("/by").unwrap_or_default())),
        out.paint(Style::Green, &clean(&event.name)),
        clean(&detail(&data))
    )
}

/// The detail that distinguishes an event from others of its type.
fn detail(data: &Value) -> String {
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
    if let (Some(title), Some(id)) = (text("/package/title"), text("/package/package_id")) {
        let step = text("/from").zip(text("/package/status")).map(|(from, to)| format!(" {from} → {to}"));
        return format!("{title} ({id}){}", step.unwrap_or_default());
    }
    if let (Some(subject), Some(predicate)) = (text("/fact/subject"), text("/fact/predicate")) {
        return format!("{subject} {predicate}: {}", text("/fact/value").unwrap_or_default());
    }
    if let Some(callsign) = text("/session/callsign") {
        return callsign.to_owned();
    }
    if let Some(hash) = text("/blob/hash") {
        return hash.to_owned();
    }
    match (text("/member"), text("/role")) {
        (Some(member), role) => format!("{member} {}", role.unwrap_or_default()),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_with_its_detail() {
        let detail = |data: Value| {
            let event = ContextEvent { id: Some("7".into()), name: "x.y".into(), json: data.to_string() };
            line(Out::new(false, true), &event)
        };
        let package = json!({"title": "T\n#", "package_id": "p", "status": "complete"});
        let at = "2026-04-18T20:00:00.123Z";
        let moved = detail(json!({"at": at, "by": "~nick", "package": package, "from": "awaiting_review"}));
        assert_eq!(moved, "2026-04-18 20:00:00Z #7 ~nick x.y T\\n# (p) awaiting_review → complete");
        assert!(
            detail(json!({"fact": {"subject": "a", "predicate": "b", "value": "c"}})).ends_with("a b: c")
        );
        assert!(detail(json!({"session": {"callsign": "coral-heron"}})).ends_with("coral-heron"));
        assert!(detail(json!({"blob": {"hash": "sha256:00"}})).ends_with("sha256:00"));
        assert!(detail(json!({"member": "@a.*", "role": "reader"})).ends_with("@a.* reader"));
        assert!(detail(json!([])).ends_with("x.y "));
    }
}
