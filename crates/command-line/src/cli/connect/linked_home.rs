//! A home directory for a coding agent that takes neither servers nor hooks by a flag: links to the user's own files,
//! and our extension beside the user's extensions.
//! Must not know: the content of the extension; the plan has it.

use std::{
    ffi::OsStr,
    fs,
    io::{Error, ErrorKind, Result},
    os::unix::fs::symlink,
    path::Path,
    time::SystemTime,
};

use serde_json::{Value, json};

use super::plan::SERVER;
use crate::cli::atomic;

/// The directory of Gemini CLI below its home directory.
const SETTINGS: &str = ".gemini";
const EXTENSIONS: &str = "extensions";
const POLICIES: &str = "policies";
/// The file of rules that allow our tools without approval, beside the user's rules.
const POLICY: &str = "plenary.toml";
/// Files that Gemini CLI writes in place: written through a dangling link, they become the user's.
const WRITTEN_IN_PLACE: [&str; 5] =
    ["settings.json", "oauth_creds.json", "google_accounts.json", "installation_id", "trustedFolders.json"];
/// Directories that every start creates.
const MADE_AT_START: [&str; 2] = ["tmp", "history"];
/// Files that are read from the home directory itself, beside the settings.
const IN_HOME: [&str; 2] = [".agents", ".env"];
/// The endings of temporary files that a program is writing.
const UNFINISHED: [&str; 2] = ["tmp", "lock"];

/// Creates or renews the home: links to all of the user's files, and the extension with these settings.
pub(super) fn set_up_home(own: &Path, users: &Path, settings: &Value) -> Result<()> {
    let (ours, theirs) = (own.join(SETTINGS), users.join(SETTINGS));
    for name in MADE_AT_START {
        fs::create_dir_all(theirs.join(name))?;
    }
    mirror(&ours, &theirs, &[EXTENSIONS, POLICIES])?;
    for name in WRITTEN_IN_PLACE {
        link(&ours.join(name), &theirs.join(name))?;
    }
    for name in IN_HOME.into_iter().filter(|name| users.join(name).exists()) {
        link(&own.join(name), &users.join(name))?;
    }
    // The launcher looks for its memory setting in the home directory itself.
    link(&own.join("settings.json"), &theirs.join("settings.json"))?;
    mirror(&ours.join(EXTENSIONS), &theirs.join(EXTENSIONS), &[SERVER])?;
    mirror(&ours.join(POLICIES), &theirs.join(POLICIES), &[POLICY])?;
    extend(&ours, settings)
}

/// Writes the extension, and the rules for its tools.
fn extend(ours: &Path, settings: &Value) -> Result<()> {
    let extension = ours.join(EXTENSIONS).join(SERVER);
    fs::create_dir_all(extension.join("hooks"))?;
    let write = |name: &str, value: &Value| {
        atomic::replace(&extension.join(name), value.to_string().as_bytes(), 0o600)
    };
    let manifest =
        json!({"name": SERVER, "version": env!("CARGO_PKG_VERSION"), "mcpServers": settings["mcpServers"]});
    write("gemini-extension.json", &manifest)?;
    // Without a recorded source, a list of allowed extensions blocks every extension; one installed by a link is never updated.
    write(".gemini-extension-install.json", &json!({"source": extension, "type": "link"}))?;
    write("hooks/hooks.json", &json!({"hooks": settings["hooks"]}))?;
    // An extension's server cannot declare itself trusted.
    let rules = ours.join(POLICIES).join(POLICY);
    if settings["mcpServers"][SERVER]["trust"] == true {
        let rule = format!(
            "[[rule]]\nmcpName = \"{SERVER}\"\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 100\n\
             modes = [\"default\", \"autoEdit\", \"yolo\"]\n"
        );
        return atomic::replace(&rules, rule.as_bytes(), 0o600);
    }
    match fs::remove_file(&rules) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Creates a directory with links to everything in another, except for those names. Moves files that were added to it
/// since the last start into the other.
fn mirror(ours: &Path, theirs: &Path, except: &[&str]) -> Result<()> {
    fs::create_dir_all(ours)?;
    let is_mirrored = |name: &OsStr| except.iter().all(|except| name != *except);
    for entry in fs::read_dir(ours)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_unfinished = path.extension().is_some_and(|kind| UNFINISHED.iter().any(|name| kind == *name));
        if is_unfinished || !is_mirrored(&name) {
            continue;
        }
        if !entry.file_type()?.is_symlink() {
            hand_over(&path, &theirs.join(&name))?;
        } else if !path.exists() {
            fs::remove_file(&path)?;
        }
    }
    let entries = match fs::read_dir(theirs) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if is_mirrored(&entry.file_name()) {
            link(&ours.join(entry.file_name()), &entry.path())?;
        }
    }
    Ok(())
}

/// Moves a file that a program wrote in place of a link to the link's target, unless the target is newer. A file that
/// cannot be moved stays.
fn hand_over(ours: &Path, theirs: &Path) -> Result<()> {
    let modified = |path: &Path| fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    let is_newer = |than: SystemTime| modified(ours).is_some_and(|ours| ours > than);
    match modified(theirs) {
        Some(_) if ours.is_dir() || theirs.is_dir() => return Ok(()),
        Some(modified_at) if !is_newer(modified_at) => return fs::remove_file(ours),
        Some(_) | None => {}
    }
    if let Some(parent) = theirs.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::rename(ours, theirs) {
        // The target is on another file system.
        Err(error) if error.kind() == ErrorKind::CrossesDevices && ours.is_file() => {
            fs::copy(ours, theirs)?;
            fs::remove_file(ours)
        }
        Err(error) if error.kind() == ErrorKind::CrossesDevices => Ok(()),
        moved => moved,
    }
}

/// Creates a link, or changes the target of an existing one; any other file stays.
fn link(path: &Path, to: &Path) -> Result<()> {
    match fs::read_link(path) {
        Ok(target) if target == to => return Ok(()),
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return Ok(()),
    }
    match symlink(to, path) {
        // A concurrent start created it first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result.map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(is_trusted: bool) -> Value {
        json!({"mcpServers": {"plenary": {"command": "p", "trust": is_trusted}}, "hooks": {"BeforeAgent": [1]}})
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn everything_of_the_user_is_there_and_an_extension_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let (own, users) = (root.path().join("own"), root.path().join("user"));
        let theirs = users.join(SETTINGS);
        fs::create_dir_all(theirs.join("extensions/maps")).unwrap();
        fs::create_dir_all(theirs.join("policies")).unwrap();
        fs::write(theirs.join("policies/mine.toml"), "mine").unwrap();
        fs::write(theirs.join("settings.json"), "{/* mine */}").unwrap();
        set_up_home(&own, &users, &settings(true)).unwrap();
        let ours = own.join(SETTINGS);
        assert_eq!(text(&ours.join("settings.json")), "{/* mine */}");
        assert_eq!(text(&ours.join("policies/mine.toml")), "mine");
        assert!(ours.join("extensions/maps").is_dir());
        assert!(text(&ours.join("policies/plenary.toml")).contains("\"allow\""));
        let extension = ours.join("extensions/plenary");
        assert!(text(&extension.join("gemini-extension.json")).contains("\"command\":\"p\""));
        assert_eq!(text(&extension.join("hooks/hooks.json")), r#"{"hooks":{"BeforeAgent":[1]}}"#);
        assert!(
            !theirs.join("extensions/plenary").exists() && !theirs.join("policies/plenary.toml").exists()
        );
        set_up_home(&own, &users, &settings(false)).unwrap();
        assert!(!ours.join("policies/plenary.toml").exists(), "it is asked for each call again");
    }

    #[test]
    fn what_a_program_writes_is_the_users() {
        let root = tempfile::tempdir().unwrap();
        let (own, users) = (root.path().join("own"), root.path().join("user"));
        set_up_home(&own, &users, &settings(true)).unwrap();
        let (ours, theirs) = (own.join(SETTINGS), users.join(SETTINGS));
        // Through a link, at once.
        fs::write(ours.join("oauth_creds.json"), "key").unwrap();
        assert_eq!(text(&theirs.join("oauth_creds.json")), "key");
        // In place of a link, or beside it, at the next start.
        fs::create_dir(ours.join("extensions/new")).unwrap();
        fs::write(ours.join("policies/auto-saved.toml"), "rule").unwrap();
        fs::write(ours.join("projects.json.1.tmp"), "half").unwrap();
        set_up_home(&own, &users, &settings(true)).unwrap();
        assert!(theirs.join("extensions/new").is_dir());
        assert_eq!(text(&theirs.join("policies/auto-saved.toml")), "rule");
        assert!(fs::symlink_metadata(ours.join("policies/auto-saved.toml")).unwrap().is_symlink());
        assert!(!theirs.join("projects.json.1.tmp").exists());
        // A file that the user removed is removed here too.
        fs::remove_file(theirs.join("policies/auto-saved.toml")).unwrap();
        set_up_home(&own, &users, &settings(true)).unwrap();
        assert!(fs::symlink_metadata(ours.join("policies/auto-saved.toml")).is_err());
    }
}
