//! Checks whether a coding agent's other settings allow the hooks and the server: all hooks disabled, the server
//! disabled, an untrusted directory. The user may have disabled them on purpose, so nothing is changed.
//! Must not know: the entries of `connect`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::{
    connect::{CodingAgent, Off, Places, SERVER, Scope, Switch},
    context::Context,
    failure::Failure,
    settings::{Document, File},
};

/// The directories of an administrator's settings for Claude Code.
const CLAUDE_MANAGED: [&str; 2] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];

/// A settings file and its content.
struct Setting {
    path: PathBuf,
    is: Value,
}

/// The result of a check of the settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No setting disables them.
    Allowed(String),
    /// A setting that may disable them cannot be read here.
    Unknown(String),
}

impl Verdict {
    fn allowed() -> Self {
        Self::Allowed("nothing disables it".to_owned())
    }
}

/// Checks whether any setting disables the hooks or the server.
pub(super) fn look(
    context: &Context,
    coding: CodingAgent,
    is_user: bool,
    directory: &Path,
) -> Result<Verdict, Failure> {
    let read = |paths: Vec<PathBuf>| paths.into_iter().filter_map(read).collect::<Vec<_>>();
    let home = context.environment.var("HOME").map(PathBuf::from).unwrap_or_default();
    match coding {
        CodingAgent::Claude => {
            let own = context
                .environment
                .var("CLAUDE_CONFIG_DIR")
                .map_or_else(|| home.join(".claude"), PathBuf::from);
            let state = match context.environment.var("CLAUDE_CONFIG_DIR") {
                Some(own) => PathBuf::from(own).join(".claude.json"),
                None => home.join(".claude.json"),
            };
            let mut files = CLAUDE_MANAGED.into_iter().flat_map(managed).collect::<Vec<_>>();
            files.extend([
                own.join("settings.json"),
                directory.join(".claude/settings.json"),
                directory.join(".claude/settings.local.json"),
            ]);
            claude(&read(files), self::read(state).as_ref(), directory)
        }
        CodingAgent::Codex => {
            let own =
                context.environment.var("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
            let path = own.join("config.toml");
            let mut settings = read(vec![path.clone(), directory.join(".codex/config.toml")]);
            if settings.first().is_none_or(|first| first.path != path) {
                settings.insert(0, Setting { path, is: Value::Null });
            }
            let hooks = if is_user { own } else { directory.join(".codex") }.join("hooks.json");
            codex(&settings, (!is_user).then_some(directory), &hooks)
        }
        CodingAgent::Gemini => {
            let settings = read(vec![
                PathBuf::from("/etc/gemini-cli/settings.json"),
                home.join(".gemini/settings.json"),
                directory.join(".gemini/settings.json"),
            ]);
            let trusted = self::read(home.join(".gemini/trustedFolders.json"));
            let switched = self::read(home.join(".gemini/mcp-server-enablement.json"));
            gemini(&settings, trusted.as_ref(), switched.as_ref(), directory)
        }
        CodingAgent::Opencode
        | CodingAgent::Qwen
        | CodingAgent::Kimi
        | CodingAgent::Copilot
        | CodingAgent::Kilo
        | CodingAgent::Qoder
        | CodingAgent::Droid
        | CodingAgent::Antigravity
        | CodingAgent::Pi
        | CodingAgent::Amp
        | CodingAgent::Crush
        | CodingAgent::Goose
        | CodingAgent::Auggie
        | CodingAgent::Cursor
        | CodingAgent::Vscode => by_table(context, coding, is_user, directory, &home),
    }
}

/// The same check for a coding agent whose switches are in the table.
fn by_table(
    context: &Context,
    coding: CodingAgent,
    is_user: bool,
    directory: &Path,
    home: &Path,
) -> Result<Verdict, Failure> {
    let switches = coding.tool().switches;
    if switches.is_empty() {
        let unread =
            format!("whether {} lets its settings hold cannot be read from its files", coding.title());
        return Ok(Verdict::Unknown(unread));
    }
    let places = Places { directory, environment: &context.environment };
    let all = |paths: Vec<PathBuf>| paths.into_iter().filter_map(read).collect::<Vec<_>>();
    for one in switches {
        let mut files: Vec<PathBuf> = one.machine.map(PathBuf::from).into_iter().collect();
        files.extend(places.find(&one.place, Scope::User));
        files.extend(places.find(&one.place, Scope::Project));
        look_at(one, &all(files))?;
    }
    if coding == CodingAgent::Qwen {
        let settings = all(vec![home.join(".qwen/settings.json"), directory.join(".qwen/settings.json")]);
        let trusted = read(home.join(".qwen/trustedFolders.json"));
        let approvals = read(home.join(".qwen/mcpApprovals.json"));
        let here = directory.to_string_lossy();
        let is_approved = |file: &Setting| file.is[here.as_ref()][SERVER]["status"] == "approved";
        if !is_user && !approvals.as_ref().is_some_and(is_approved) {
            return Err(Failure::local_with(
                format!("Qwen Code has not approved the server `{SERVER}` of {here} and does not start it"),
                format!("`qwen mcp approve {SERVER}`"),
            ));
        }
        return trusts("Qwen Code", false, (settings.as_slice(), trusted.as_ref()), directory);
    }
    Ok(Verdict::allowed())
}

/// Checks a switch of the table in all files.
fn look_at(switch: &Switch, settings: &[Setting]) -> Result<(), Failure> {
    for setting in settings {
        let there = switch.at.iter().fold(&setting.is, |at, name| &at[*name]);
        let is_off = match switch.off {
            Off::True => *there == true,
            Off::False => *there == false,
            Off::Has(word) => has(there, word),
            Off::Lacks(word) => there.is_array() && !has(there, word),
        };
        if is_off {
            return Err(refused(setting, switch.does, switch.next));
        }
    }
    Ok(())
}

fn read(path: PathBuf) -> Option<Setting> {
    let text = File::at(&path).read().ok()??;
    let is = if path.extension().is_some_and(|extension| extension == "toml") {
        toml::from_str(&text).ok()?
    } else {
        Document::read(&text).ok()?.value(&[])?
    };
    Some(Setting { path, is })
}

fn has(list: &Value, word: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|one| one == word))
}

fn refused(setting: &Setting, what: &str, next: &str) -> Failure {
    Failure::local_with(format!("{} {what}", setting.path.display()), next)
}

fn claude(settings: &[Setting], state: Option<&Setting>, directory: &Path) -> Result<Verdict, Failure> {
    for setting in settings {
        if setting.is["disableAllHooks"] == true {
            return Err(refused(
                setting,
                "disables all hooks",
                "remove `disableAllHooks`; otherwise messages arrive only through the tool `inbox`",
            ));
        }
        if setting.is["allowManagedHooksOnly"] == true {
            return Err(refused(
                setting,
                "allows only the hooks of your organisation",
                "ask the administrator of this machine",
            ));
        }
        if has(&setting.is["disabledMcpjsonServers"], SERVER) {
            return Err(refused(
                setting,
                "disables the server `plenary`",
                "remove it from `disabledMcpjsonServers`",
            ));
        }
        if let Some(rule) = denied(&setting.is["permissions"]["deny"]) {
            let what = format!("denies tools of `plenary` with the rule `{rule}`");
            return Err(refused(setting, &what, "remove it from `permissions.deny`"));
        }
        let names_server = |rule: &Value| rule["serverName"] == SERVER;
        let rules = setting.is["deniedMcpServers"].as_array();
        if rules.is_some_and(|rules| rules.iter().any(names_server)) {
            return Err(refused(
                setting,
                "denies the server `plenary`",
                "remove it from `deniedMcpServers`, or ask the administrator of this machine",
            ));
        }
    }
    let Some(state) = state else { return Ok(Verdict::allowed()) };
    let here = &state.is["projects"][directory.to_string_lossy().as_ref()];
    for list in ["disabledMcpServers", "disabledMcpjsonServers"] {
        if has(&here[list], SERVER) {
            return Err(refused(
                state,
                "disables the server `plenary` in this directory",
                "enable it in Claude Code, with /mcp",
            ));
        }
    }
    let other = &here["mcpServers"][SERVER];
    if other.is_object() && !is_own(other) {
        return Err(refused(
            state,
            "has another server `plenary` for this directory, which Claude Code prefers",
            "remove it: `claude mcp remove --scope local plenary`",
        ));
    }
    if here["hasTrustDialogAccepted"] == false {
        let next = "start `claude` here once, and trust the directory when it asks";
        return Err(Failure::local_with(format!("Claude Code does not trust {}", directory.display()), next));
    }
    Ok(Verdict::allowed())
}

/// The rule that denies a tool of ours.
fn denied(rules: &Value) -> Option<&str> {
    let server = format!("mcp__{SERVER}");
    let is_ours = |rule: &&str| {
        *rule == server || rule.strip_prefix(&server).is_some_and(|rest| rest.starts_with("__"))
    };
    rules.as_array()?.iter().filter_map(Value::as_str).find(is_ours)
}

/// Whether an entry runs `plenary mcp`.
fn is_own(server: &Value) -> bool {
    let program = server["command"].as_str().map(Path::new).and_then(Path::file_name);
    program.is_some_and(|name| name == SERVER) && has(&server["args"], "mcp")
}

/// An administrator's settings files in a directory, the main file first.
fn managed(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(directory);
    let mut parts: Vec<PathBuf> = std::fs::read_dir(directory.join("managed-settings.d"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    parts.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    parts.sort();
    [vec![directory.join("managed-settings.json")], parts].concat()
}

/// For settings of a directory, checks also that Codex trusts `directory`.
fn codex(settings: &[Setting], directory: Option<&Path>, hooks: &Path) -> Result<Verdict, Failure> {
    for setting in settings {
        for feature in ["hooks", "codex_hooks"] {
            if setting.is["features"][feature] == false {
                return Err(refused(setting, "disables hooks", "remove it from `[features]`"));
            }
        }
        if setting.is["mcp_servers"][SERVER]["enabled"] == false {
            return Err(refused(setting, "disables the server `plenary`", "remove `enabled = false`"));
        }
    }
    let own = settings.first().map_or(&Value::Null, |own| &own.is);
    if let Some(directory) = directory {
        let level = |above: &Path| own["projects"][above.to_string_lossy().as_ref()]["trust_level"].as_str();
        if directory.ancestors().find_map(level) != Some("trusted") {
            return Err(Failure::local_with(
                format!("Codex does not trust {} and ignores its settings", directory.display()),
                "start `codex` here, and trust the directory when it asks",
            ));
        }
    }
    let known = own["hooks"]["state"].as_object();
    let known =
        known.is_some_and(|known| known.keys().any(|key| key.starts_with(hooks.to_string_lossy().as_ref())));
    if !known {
        return Err(Failure::local_with(
            format!("Codex does not trust the hooks of {} yet and runs none of them", hooks.display()),
            "start `codex` here, type /hooks, and trust them",
        ));
    }
    Ok(Verdict::Allowed("nothing disables it, and the directory is trusted".to_owned()))
}

fn gemini(
    settings: &[Setting],
    trusted: Option<&Setting>,
    switched: Option<&Setting>,
    directory: &Path,
) -> Result<Verdict, Failure> {
    for setting in settings {
        if setting.is["hooksConfig"]["enabled"] == false
            || has(&setting.is["hooksConfig"]["disabled"], SERVER)
        {
            return Err(refused(setting, "disables Plenary's hooks", "remove it from `hooksConfig`"));
        }
        let allowed = &setting.is["mcp"]["allowed"];
        if has(&setting.is["mcp"]["excluded"], SERVER) || (allowed.is_array() && !has(allowed, SERVER)) {
            return Err(refused(
                setting,
                "disables the server `plenary`",
                "mend `mcp.excluded` and `mcp.allowed`",
            ));
        }
    }
    if let Some(switched) = switched.filter(|switched| switched.is[SERVER]["enabled"] == false) {
        return Err(refused(
            switched,
            "disables the server `plenary`",
            "enable it: `gemini mcp enable plenary`",
        ));
    }
    trusts("Gemini CLI", true, (settings, trusted), directory)
}

/// Whether a directory is trusted, if trust is required: by default, unless a setting says otherwise.
fn trusts(
    title: &str,
    by_default: bool,
    (settings, trusted): (&[Setting], Option<&Setting>),
    directory: &Path,
) -> Result<Verdict, Failure> {
    let said = settings.iter().rev().find_map(|one| one.is["security"]["folderTrust"]["enabled"].as_bool());
    let asks = said.unwrap_or(by_default);
    let here = trusted.and_then(|trusted| {
        directory.ancestors().find_map(|above| trusted.is[above.to_string_lossy().as_ref()].as_str())
    });
    match (asks, here) {
        (_, Some("DO_NOT_TRUST")) | (true, None) => Err(Failure::local_with(
            format!("{title} does not trust {} and ignores its settings", directory.display()),
            "start it here, and trust the folder when it asks",
        )),
        _ => Ok(Verdict::allowed()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{codex as look_at, *};

    fn setting(is: Value) -> Setting {
        Setting { path: "/s".into(), is }
    }

    #[test]
    fn claude_codes_switches_are_named() {
        let here = Path::new("/w");
        let of = |is: Value| claude(&[setting(json!({})), setting(is)], None, here);
        of(json!({"permissions": {"deny": ["Bash"]}})).unwrap();
        for off in [
            json!({"disableAllHooks": true}),
            json!({"allowManagedHooksOnly": true}),
            json!({"disabledMcpjsonServers": ["x", "plenary"]}),
            json!({"permissions": {"deny": ["mcp__plenary"]}}),
            json!({"permissions": {"deny": ["Bash", "mcp__plenary__send"]}}),
            json!({"deniedMcpServers": [{"serverName": "plenary"}]}),
        ] {
            assert!(of(off.clone()).is_err(), "{off}");
        }
        let state = |is: Value| setting(json!({"projects": {"/w": is}}));
        assert!(claude(&[], Some(&state(json!({"disabledMcpServers": ["plenary"]}))), here).is_err());
        claude(&[], Some(&state(json!({"disabledMcpServers": ["other"]}))), Path::new("/v")).unwrap();
        let servers =
            |command: &str| json!({"mcpServers": {"plenary": {"command": command, "args": ["mcp"]}}});
        assert!(claude(&[], Some(&state(servers("/bin/true"))), here).is_err(), "another program");
        claude(&[], Some(&state(servers("/usr/bin/plenary"))), here).unwrap();
        assert!(claude(&[], Some(&state(json!({"hasTrustDialogAccepted": false}))), here).is_err());
        of(json!({"permissions": {"deny": ["mcp__plenary2__send"]}})).unwrap();
    }

    #[test]
    fn codexs_switches_are_named() {
        let hooks = Path::new("/w/a/.codex/hooks.json");
        let codex =
            |settings: &[Setting], directory: &str| look_at(settings, Some(Path::new(directory)), hooks);
        let state = json!({"state": {"/w/a/.codex/hooks.json:stop:0:0": {"trusted_hash": "sha256:0"}}});
        let trusted = json!({"projects": {"/w": {"trust_level": "trusted"}}, "hooks": state});
        let here = "/w/a";
        codex(&[setting(trusted.clone())], here).unwrap();
        look_at(&[setting(json!({"hooks": state}))], None, hooks).unwrap();
        assert!(codex(&[], here).is_err() && codex(&[setting(trusted.clone())], "/v").is_err());
        assert!(
            codex(&[setting(json!({"projects": trusted["projects"]}))], here).is_err(),
            "hooks are trusted apart"
        );
        for off in
            [json!({"features": {"hooks": false}}), json!({"mcp_servers": {"plenary": {"enabled": false}}})]
        {
            assert!(codex(&[setting(trusted.clone()), setting(off.clone())], here).is_err(), "{off}");
        }
    }

    #[test]
    fn gemini_clis_switches_are_named() {
        let here = Path::new("/w/a");
        let of = |is: Value, trusted: Option<Value>| {
            gemini(&[setting(is)], trusted.map(setting).as_ref(), None, here)
        };
        assert!(of(json!({}), None).is_err(), "folders are trusted one by one");
        of(json!({"security": {"folderTrust": {"enabled": false}}}), None).unwrap();
        let trusted = || Some(json!({"/w": "TRUST_FOLDER"}));
        of(json!({}), trusted()).unwrap();
        for off in [
            json!({"hooksConfig": {"enabled": false}}),
            json!({"hooksConfig": {"disabled": ["plenary"]}}),
            json!({"mcp": {"excluded": ["plenary"]}}),
            json!({"mcp": {"allowed": ["other"]}}),
        ] {
            assert!(of(off.clone(), trusted()).is_err(), "{off}");
        }
        let asks = json!({"security": {"folderTrust": {"enabled": true}}});
        of(asks.clone(), Some(json!({"/w": "TRUST_FOLDER"}))).unwrap();
        assert!(of(asks, Some(json!({"/w/a": "DO_NOT_TRUST", "/w": "TRUST_FOLDER"}))).is_err());
        let switched = setting(json!({"plenary": {"enabled": false}}));
        assert!(gemini(&[], None, Some(&switched), here).is_err());
    }
}
