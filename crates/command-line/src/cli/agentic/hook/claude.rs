//! The hook of Claude Code: an entry under `hooks.Stop` in `.claude/settings.json` of a directory.
//! Must not know: the command of the entry.

use std::path::Path;

use serde_json::{Value, json};

use super::report;
use crate::cli::{
    context::Context,
    failure::Failure,
    settings::{Document, File, SettingsError, Step},
};

/// The event that runs the hook.
const EVENT: &str = "Stop";
/// A shell comment at the end of our command, which identifies it.
const MARK: &str = "# plenary context";
/// Maximum run time of the hook, in seconds; the deposit gives up earlier.
const TIMEOUT_S: u64 = 20;

pub(super) fn install(context: &Context, directory: &Path, command: &str, yes: bool) -> Result<(), Failure> {
    let file = file(directory);
    let before = file.read()?;
    let after =
        with_hook(before.as_deref().unwrap_or_default(), command).map_err(|error| file.unusable(&error.0))?;
    if before.as_deref() == Some(&after) {
        return report(context, "claude", file.path(), "already has the hook");
    }
    if !yes {
        context.out.line(after.trim_end())?;
        context
            .out
            .note(&format!("this is what {} would contain; write it with --yes", file.path().display()));
        return Ok(());
    }
    write(context, &file, &after)?;
    report(context, "claude", file.path(), "now deposits when Claude Code stops in this directory")
}

pub(super) fn remove(context: &Context, directory: &Path) -> Result<(), Failure> {
    let file = file(directory);
    let before = file.read()?.unwrap_or_default();
    let after = without_hook(&before).map_err(|error| file.unusable(&error.0))?;
    if after == before {
        return report(context, "claude", file.path(), "has no Plenary hook");
    }
    write(context, &file, &after)?;
    report(context, "claude", file.path(), "no longer deposits")
}

fn write(context: &Context, file: &File, text: &str) -> Result<(), Failure> {
    if let Some(backup) = file.write(text, context.copies().as_deref())? {
        context.out.note(&format!("the earlier file is saved in {}", backup.display()));
    }
    Ok(())
}

fn file(directory: &Path) -> File {
    File::at(directory.join(".claude/settings.json"))
}

/// The settings with our hook exactly once.
fn with_hook(text: &str, command: &str) -> Result<String, SettingsError> {
    let entry = json!({"type": "command", "command": format!("{command} {MARK}"), "timeout": TIMEOUT_S});
    let there: Vec<Value> = ours(&Document::read(text)?).into_iter().map(|(_, hook)| hook).collect();
    if there == [entry.clone()] {
        return Ok(text.to_owned());
    }
    let mut document = Document::read(&without_hook(text)?)?;
    document.push(&["hooks", EVENT], &json!({"hooks": [entry]}))?;
    Ok(document.text().to_owned())
}

/// The settings without our hooks, and without members that become empty.
fn without_hook(text: &str) -> Result<String, SettingsError> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let mut document = Document::read(text)?;
    let hooks = ours(&document);
    if hooks.is_empty() {
        return Ok(text.to_owned());
    }
    let list = [Step::Key("hooks"), Step::Key(EVENT)];
    for (group, inner) in hooks.into_iter().rev().map(|(position, _)| position) {
        let group = [list[0], list[1], Step::Index(group)];
        let members = [group[0], group[1], group[2], Step::Key("hooks")];
        document.remove(&[members[0], members[1], members[2], members[3], Step::Index(inner)]);
        if document.value(&members) == Some(json!([])) {
            document.remove(&group);
        }
    }
    document.remove_empty(&list);
    document.remove_empty(&list[..1]);
    Ok(document.text().to_owned())
}

/// Our hooks, each with the index of its group and its own.
fn ours(document: &Document) -> Vec<((usize, usize), Value)> {
    let groups = document.value(&[Step::Key("hooks"), Step::Key(EVENT)]).unwrap_or_default();
    let mut hooks = Vec::new();
    for (group, value) in groups.as_array().into_iter().flatten().enumerate() {
        for (inner, hook) in value["hooks"].as_array().into_iter().flatten().enumerate() {
            if hook["command"].as_str().is_some_and(|command| command.ends_with(MARK)) {
                hooks.push(((group, inner), hook.clone()));
            }
        }
    }
    hooks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_is_added_once_and_other_settings_stay() {
        let mine = json!({"hooks": [{"type": "command", "command": "say done"}]});
        let before = json!({"model": "x", "hooks": {"Stop": [mine], "PreToolUse": []}}).to_string();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let once = with_hook(&before, "/bin/plenary deposit").unwrap();
        assert_eq!(with_hook(&once, "/bin/plenary deposit"), Ok(once.clone()));
        let stop = &read(&once)["hooks"]["Stop"];
        assert_eq!(stop[0], mine);
        assert_eq!(stop[1]["hooks"][0]["command"], "/bin/plenary deposit # plenary context");
        let moved = with_hook(&once, "/opt/plenary deposit").unwrap();
        assert_eq!(read(&moved)["hooks"]["Stop"].as_array().unwrap().len(), 2, "{moved}");
        assert_eq!(without_hook(&moved), Ok(before));
        assert_eq!(without_hook(&with_hook("{}", "x").unwrap()), Ok("{}".to_owned()));
        for strange in ["[]", r#"{"hooks": []}"#, r#"{"hooks": {"Stop": {}}}"#, "{"] {
            assert!(with_hook(strange, "x").is_err(), "{strange}");
        }
    }
}
