//! The hook of Claude Code: an entry under `hooks.Stop` in `.claude/settings.json` of a directory.
//! Must not know: what the entry runs.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::cli::{context::Context, failure::Failure};

/// A comment of the shell at the end of our command, by which it is found again.
const MARK: &str = "# plenary context";
/// Longest run of the hook, in seconds; the deposit gives up before.
const TIMEOUT_S: u64 = 20;

pub(super) fn install(context: &Context, directory: &Path, command: &str, yes: bool) -> Result<(), Failure> {
    let path = file(directory);
    let before = read(&path)?;
    let after = with_hook(before.clone(), command).ok_or_else(|| strange(&path))?;
    if after == before {
        return said(context, &path, "has the hook already");
    }
    let text = pretty(&after)?;
    if !yes {
        context.out.line(text.trim_end())?;
        context.out.note(&format!("this would be {}; write it with --yes", path.display()));
        return Ok(());
    }
    write(context, &path, &text)?;
    said(context, &path, "deposits when Claude Code stops here")
}

pub(super) fn remove(context: &Context, directory: &Path) -> Result<(), Failure> {
    let path = file(directory);
    let before = read(&path)?;
    let mut after = before.clone();
    drop_hook(&mut after);
    if after == before {
        return said(context, &path, "has no hook of ours");
    }
    write(context, &path, &pretty(&after)?)?;
    said(context, &path, "deposits no more")
}

fn said(context: &Context, path: &Path, what: &str) -> Result<(), Failure> {
    if context.out.is_json() {
        let answer = json!({"hook": "claude", "file": path, "state": what});
        return Ok(context.out.line(&answer.to_string())?);
    }
    Ok(context.out.line(&format!("{} {what}", path.display()))?)
}

fn file(directory: &Path) -> PathBuf {
    directory.join(".claude/settings.json")
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::local(format!("{} cannot be changed: {why}", path.display()))
}

fn strange(path: &Path) -> Failure {
    Failure::local_with(
        format!("{} is not in the form of Claude Code's settings", path.display()),
        "its `hooks` is an object, and `hooks.Stop` a list; mend it, or move it away",
    )
}

fn read(path: &Path) -> Result<Value, Failure> {
    match fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => Ok(json!({})),
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| unusable(path, &format!("it is no JSON ({error})")))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(json!({})),
        Err(error) => Err(unusable(path, &error.to_string())),
    }
}

fn pretty(settings: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(settings)
        .map_err(|error| Failure::local(format!("settings cannot be written: {error}")))?;
    Ok(text + "\n")
}

/// Replaced whole or not at all; what was there is kept beside it.
fn write(context: &Context, path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| unusable(path, &error.to_string());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    if path.exists() {
        let backup = path.with_extension("json.before-plenary");
        fs::copy(path, &backup).map_err(failed)?;
        context.out.note(&format!("what was there is kept in {}", backup.display()));
    }
    let fresh = path.with_extension("json.new");
    fs::write(&fresh, text).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)
}

/// Settings with our hook once; `None` where they have no place for it.
fn with_hook(mut settings: Value, command: &str) -> Option<Value> {
    let entry = json!({"type": "command", "command": format!("{command} {MARK}"), "timeout": TIMEOUT_S});
    let has = |settings: &Value| {
        let groups = settings["hooks"]["Stop"].as_array()?;
        let hooks = groups.iter().filter_map(|group| group["hooks"].as_array()).flatten();
        Some(hooks.filter(|hook| is_ours(hook)).eq([&entry]))
    };
    if has(&settings) == Some(true) {
        return Some(settings);
    }
    drop_hook(&mut settings);
    let hooks = settings.as_object_mut()?.entry("hooks").or_insert_with(|| Value::Object(Map::new()));
    let stop = hooks.as_object_mut()?.entry("Stop").or_insert_with(|| json!([]));
    stop.as_array_mut()?.push(json!({"hooks": [entry]}));
    Some(settings)
}

fn is_ours(hook: &Value) -> bool {
    hook["command"].as_str().is_some_and(|command| command.ends_with(MARK))
}

/// Takes our hooks out, and what is empty without them.
fn drop_hook(settings: &mut Value) {
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else { return };
    let Some(groups) = hooks.get_mut("Stop").and_then(Value::as_array_mut) else { return };
    let mut dropped = false;
    for group in groups.iter_mut() {
        let Some(list) = group.get_mut("hooks").and_then(Value::as_array_mut) else { continue };
        let before = list.len();
        list.retain(|hook| !is_ours(hook));
        dropped |= list.len() < before;
    }
    if !dropped {
        return;
    }
    groups.retain(|group| group["hooks"].as_array().is_none_or(|list| !list.is_empty()));
    if groups.is_empty() {
        hooks.remove("Stop");
    }
    if hooks.is_empty()
        && let Some(settings) = settings.as_object_mut()
    {
        settings.remove("hooks");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_stands_there_once_and_what_else_is_there_stays() {
        let mine = json!({"hooks": [{"type": "command", "command": "say done"}]});
        let before = json!({"model": "x", "hooks": {"Stop": [mine], "PreToolUse": []}});
        let once = with_hook(before.clone(), "/bin/plenary deposit").unwrap();
        assert_eq!(with_hook(once.clone(), "/bin/plenary deposit"), Some(once.clone()));
        assert_eq!(once["hooks"]["Stop"][0], before["hooks"]["Stop"][0]);
        assert_eq!(once["hooks"]["Stop"][1]["hooks"][0]["command"], "/bin/plenary deposit # plenary context");
        let moved = with_hook(once, "/opt/plenary deposit").unwrap();
        assert_eq!(moved["hooks"]["Stop"].as_array().unwrap().len(), 2, "{moved}");
        let mut left = moved;
        drop_hook(&mut left);
        assert_eq!(left, before);
        let mut fresh = with_hook(json!({}), "x").unwrap();
        drop_hook(&mut fresh);
        assert_eq!(fresh, json!({}));
        for strange in [json!([]), json!({"hooks": []}), json!({"hooks": {"Stop": {}}})] {
            assert_eq!(with_hook(strange.clone(), "x"), None, "{strange}");
        }
    }
}
