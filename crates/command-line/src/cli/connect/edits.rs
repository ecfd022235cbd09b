//! Every settings file of a coding agent before and after, the added entries, and the change itself.
//! Must not know: the content of the entries.

use std::{collections::BTreeSet, io, path::Path};

use serde_json::{Map, Value, json};

use super::{
    change,
    coding_agents::CodingAgent,
    plan::{Form, PlannedFile},
};
use crate::{
    cli::{
        atomic,
        context::Context,
        failure::Failure,
        identity::{ClientEntry, Clients},
        settings::{File, diff},
    },
    out::{Style, clean},
};

/// A file before and after the change.
pub(super) struct Edit {
    file: File,
    before: Option<String>,
    after: Option<String>,
}

/// The name of a file in the record of created members.
fn label(directory: &Path, path: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).display().to_string()
}

/// Every file with our entries added, and everything that is created for them.
pub(super) fn add_entries(
    coding: CodingAgent,
    directory: &Path,
    planned: &[PlannedFile],
    old: &[String],
) -> Result<(Vec<Edit>, Vec<String>), Failure> {
    let (mut edits, mut all) = (Vec::new(), Vec::new());
    for PlannedFile { path, form } in planned {
        let file = File::at(path);
        let before = file.read()?;
        let label = label(directory, path);
        let text = before.clone().unwrap_or_default();
        let known = made_in(old, &label);
        let changed =
            change::add_entries(coding, &text, form, &known).map_err(|error| file.unusable(&error.0))?;
        let is_recorded = |label: &str| old.iter().any(|created| created == label);
        // Inner directories first, so that the record lists them after the outer ones.
        for outer in path.ancestors().skip(1).take_while(|outer| *outer != directory) {
            let label = format!("{}/", self::label(directory, outer));
            if outer.exists() && !is_recorded(&label) {
                break;
            }
            all.insert(0, label);
        }
        if before.is_none() || is_recorded(&label) {
            all.push(label.clone());
        } else if (matches!(form, Form::Json(_)) && text.trim().is_empty())
            || is_recorded(&format!("{label}#"))
        {
            all.push(format!("{label}#"));
        }
        all.extend(changed.created.iter().map(|member| format!("{label}#{member}")));
        let after = Some(changed.text);
        edits.push(Edit { file, before, after });
    }
    let mut known = BTreeSet::new();
    all.retain(|created| known.insert(created.clone()));
    Ok((edits, all))
}

/// Every file without our entries; a file that was created for them and is empty now is removed.
pub(super) fn remove_entries(
    coding: CodingAgent,
    directory: &Path,
    planned: &[PlannedFile],
    created: &[String],
) -> Result<Vec<Edit>, Failure> {
    let mut edits = Vec::new();
    for PlannedFile { path, form } in planned {
        let file = File::at(path);
        let Some(before) = file.read()? else { continue };
        let label = label(directory, path);
        let known = made_in(created, &label);
        let rest =
            change::remove_entries(coding, &before, form, &known).map_err(|error| file.unusable(&error.0))?;
        let is_bare = rest.trim().is_empty() || rest.trim() == "{}";
        let after = if (is_bare || is_its_own(coding, &rest)) && created.contains(&label) {
            None
        } else if is_bare && created.contains(&format!("{label}#")) {
            Some(rest.strip_suffix("{}\n").unwrap_or(&rest).to_owned())
        } else {
            Some(rest)
        };
        edits.push(Edit { file, before: Some(before), after });
    }
    Ok(edits)
}

/// Whether a text contains only settings that the coding agent writes by itself.
fn is_its_own(coding: CodingAgent, text: &str) -> bool {
    let own = coding.tool().servers.as_ref().map_or(&[][..], |servers| servers.itself);
    // A comment, which a person wrote, is not JSON.
    let text: Result<Map<String, Value>, _> = serde_json::from_str(text);
    text.is_ok_and(|text| text.keys().all(|name| own.contains(&name.as_str())))
}

/// The members created in one file.
fn made_in(created: &[String], label: &str) -> Vec<String> {
    let members = created.iter().filter_map(|created| created.strip_prefix(label)?.strip_prefix('#'));
    members.filter(|member| !member.is_empty()).map(str::to_owned).collect()
}

/// Removes the directories that were created for files, if they are empty.
pub(super) fn remove_directories(directory: &Path, created: &[String]) {
    for created in created.iter().rev().filter_map(|created| created.strip_suffix('/')) {
        let _not_empty = std::fs::remove_dir(directory.join(created));
    }
}

/// Hands created directories that other coding agents still use to one of them, which removes them when it leaves.
pub(super) fn hand_over_directories(directory: &Path, created: &[String], others: &mut Clients) {
    let created = created.iter().rev().filter(|created| created.ends_with('/'));
    for created in created.filter(|created| directory.join(created).exists()) {
        let uses = |entry: &&mut ClientEntry| {
            entry.created.iter().any(|other| other.starts_with(created.as_str()) && other != created)
        };
        // The outer ones come first in a record.
        if let Some(heir) = others.0.values_mut().find(uses)
            && !heir.created.contains(created)
        {
            heir.created.insert(0, created.clone());
        }
    }
}

/// Writes the changes, or shows them; returns a report of each file. If nobody reads the output, the files are still written: the
/// command's last line fails too.
pub(super) fn apply(context: &Context, edits: &[Edit], dry_run: bool) -> Result<Vec<Value>, Failure> {
    let mut reports = Vec::new();
    for edit in edits {
        let Edit { file, before, after } = edit;
        let path = file.path().display().to_string();
        let is_same = before == after;
        if let Some(parent) = file.path().parent().filter(|_| !dry_run) {
            atomic::remove_abandoned(parent);
        }
        let mut backup = None;
        if !is_same && !dry_run {
            match after {
                Some(text) => backup = file.write(text, context.copies().as_deref())?,
                None => file.remove()?,
            }
        }
        let shown = show(context, edit, dry_run);
        if dry_run {
            shown?;
        }
        if let Some(copy) = &backup {
            context.out.note(&format!("the earlier file is saved in {}", copy.display()));
        }
        let state = match (is_same, after) {
            (true, _) => "unchanged",
            (false, Some(_)) => "changed",
            (false, None) => "removed",
        };
        reports.push(
            json!({"file": path, "state": state, "backup": backup.map(|copy| copy.display().to_string())}),
        );
    }
    Ok(reports)
}

/// Shows a change as its number of lines; a dry run shows every line.
fn show(context: &Context, Edit { file, before, after }: &Edit, dry_run: bool) -> io::Result<()> {
    if before == after || context.out.is_json() {
        return Ok(());
    }
    let lines = diff(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    let count = |sign: &str| lines.iter().filter(|line| line.starts_with(sign)).count();
    let here = context.environment.directory();
    let path = here.and_then(|here| file.path().strip_prefix(here).ok()).unwrap_or(file.path());
    let name = context.out.paint(Style::Bold, &path.display().to_string());
    context.out.line(&format!("{name}  +{} -{}", count("+ "), count("- ")))?;
    lines.iter().filter(|_| dry_run).try_for_each(|line| context.out.line(&format!("  {}", clean(line))))
}
