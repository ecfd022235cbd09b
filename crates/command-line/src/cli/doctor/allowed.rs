//! Checks whether a coding agent's other settings allow the hooks and the server: all hooks disabled, the server
//! disabled, an untrusted directory. The user may have disabled them on purpose, so nothing is changed.
//! Must not know: the entries of `connect`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::{
    connect::{CodingAgent, Off, SERVER, Scope, SettingsRoots},
    context::Context,
    failure::Failure,
    settings::{Document, File},
};

/// The directories of an administrator's settings for Claude Code.
const CLAUDE_MANAGED: [&str; 2] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];

/// A setting that disables our hooks or our server: its path, the value, its effect, and the remedy.
type Disabling = (&'static [&'static str], Off, &'static str, &'static str);
const NO_SERVER: &str = "disables the server `plenary`";
const CLAUDE_OFF: [Disabling; 3] = [
    (
        &["disableAllHooks"],
        Off::True,
        "disables all hooks",
        "remove `disableAllHooks`; otherwise messages arrive only through the tool `inbox`",
    ),
    (
        &["allowManagedHooksOnly"],
        Off::True,
        "allows only the hooks of your organisation",
        "ask the administrator of this machine",
    ),
    (&["disabledMcpjsonServers"], Off::Has(SERVER), NO_SERVER, "remove it from `disabledMcpjsonServers`"),
];
const CODEX_OFF: [Disabling; 3] = [
    (&["features", "hooks"], Off::False, "disables hooks", "remove it from `[features]`"),
    (&["features", "codex_hooks"], Off::False, "disables hooks", "remove it from `[features]`"),
    (&["mcp_servers", SERVER, "enabled"], Off::False, NO_SERVER, "remove `enabled = false`"),
];
const GEMINI_OFF: [Disabling; 4] = [
    (&["hooksConfig", "enabled"], Off::False, "disables Plenary's hooks", "remove it from `hooksConfig`"),
    (
        &["hooksConfig", "disabled"],
        Off::Has(SERVER),
        "disables Plenary's hooks",
        "remove it from `hooksConfig`",
    ),
    (&["mcp", "excluded"], Off::Has(SERVER), NO_SERVER, "correct `mcp.excluded` and `mcp.allowed`"),
    (&["mcp", "allowed"], Off::Lacks(SERVER), NO_SERVER, "correct `mcp.excluded` and `mcp.allowed`"),
];

/// A settings file and its content.
struct Setting {
    path: PathBuf,
    value: Value,
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
pub(super) fn check(
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
                settings.insert(0, Setting { path, value: Value::Null });
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
        | CodingAgent::Vscode => check_switches(context, coding, is_user, directory, &home),
    }
}

/// The same check for a coding agent whose switches are in the table.
fn check_switches(
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
    let roots = SettingsRoots { directory, environment: &context.environment };
    let all = |paths: Vec<PathBuf>| paths.into_iter().filter_map(read).collect::<Vec<_>>();
    for switch in switches {
        let mut files: Vec<PathBuf> = switch.machine.map(PathBuf::from).into_iter().collect();
        files.extend(roots.find(&switch.location, Scope::User));
        files.extend(roots.find(&switch.location, Scope::Project));
        let off = (switch.path, switch.off, switch.does, switch.next);
        all(files).iter().try_for_each(|setting| check_off(setting, &[off]))?;
    }
    if coding == CodingAgent::Qwen {
        let settings = all(vec![home.join(".qwen/settings.json"), directory.join(".qwen/settings.json")]);
        let trusted = read(home.join(".qwen/trustedFolders.json"));
        let approvals = read(home.join(".qwen/mcpApprovals.json"));
        let here = directory.to_string_lossy();
        let is_approved = |file: &Setting| file.value[here.as_ref()][SERVER]["status"] == "approved";
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

/// Checks that a file disables nothing.
fn check_off(setting: &Setting, all: &[Disabling]) -> Result<(), Failure> {
    for (path, off, does, next) in all {
        let value = path.iter().fold(&setting.value, |value, name| &value[*name]);
        let is_off = match off {
            Off::True => *value == true,
            Off::False => *value == false,
            Off::Has(element) => has(value, element),
            Off::Lacks(element) => value.is_array() && !has(value, element),
        };
        if is_off {
            return Err(refused(setting, does, next));
        }
    }
    Ok(())
}

fn read(path: PathBuf) -> Option<Setting> {
    let text = File::at(&path).read().ok()??;
    let value = if path.extension().is_some_and(|extension| extension == "toml") {
        toml::from_str(&text).ok()?
    } else {
        Document::read(&text).ok()?.value(&[])?
    };
    Some(Setting { path, value })
}

fn has(list: &Value, element: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|item| item == element))
}

fn refused(setting: &Setting, what: &str, next: &str) -> Failure {
    Failure::local_with(format!("{} {what}", setting.path.display()), next)
}

fn claude(settings: &[Setting], state: Option<&Setting>, directory: &Path) -> Result<Verdict, Failure> {
    for setting in settings {
        check_off(setting, &CLAUDE_OFF)?;
        if let Some(rule) = denied(&setting.value["permissions"]["deny"]) {
            let what = format!("denies tools of `plenary` with the rule `{rule}`");
            return Err(refused(setting, &what, "remove it from `permissions.deny`"));
        }
        let names_server = |rule: &Value| rule["serverName"] == SERVER;
        let rules = setting.value["deniedMcpServers"].as_array();
        if rules.is_some_and(|rules| rules.iter().any(names_server)) {
            return Err(refused(
                setting,
                "denies the server `plenary`",
                "remove it from `deniedMcpServers`, or ask the administrator of this machine",
            ));
        }
    }
    let Some(state) = state else { return Ok(Verdict::allowed()) };
    let project = &state.value["projects"][directory.to_string_lossy().as_ref()];
    for list in ["disabledMcpServers", "disabledMcpjsonServers"] {
        if has(&project[list], SERVER) {
            return Err(refused(
                state,
                "disables the server `plenary` in this directory",
                "enable it in Claude Code, with /mcp",
            ));
        }
    }
    let other = &project["mcpServers"][SERVER];
    if other.is_object() && !is_own(other) {
        return Err(refused(
            state,
            "has another server `plenary` for this directory, which Claude Code prefers",
            "remove it: `claude mcp remove --scope local plenary`",
        ));
    }
    if project["hasTrustDialogAccepted"] == false {
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
    settings.iter().try_for_each(|setting| check_off(setting, &CODEX_OFF))?;
    let user_settings = settings.first().map_or(&Value::Null, |setting| &setting.value);
    if let Some(directory) = directory {
        let level = |ancestor: &Path| {
            user_settings["projects"][ancestor.to_string_lossy().as_ref()]["trust_level"].as_str()
        };
        if directory.ancestors().find_map(level) != Some("trusted") {
            return Err(Failure::local_with(
                format!("Codex does not trust {} and ignores its settings", directory.display()),
                "start `codex` here, and trust the directory when it asks",
            ));
        }
    }
    let trust = user_settings["hooks"]["state"].as_object();
    let trust =
        trust.is_some_and(|trust| trust.keys().any(|key| key.starts_with(hooks.to_string_lossy().as_ref())));
    if !trust {
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
    settings.iter().try_for_each(|setting| check_off(setting, &GEMINI_OFF))?;
    if let Some(switched) = switched.filter(|switched| switched.value[SERVER]["enabled"] == false) {
        return Err(refused(switched, NO_SERVER, "enable it: `gemini mcp enable plenary`"));
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
    let setting =
        settings.iter().rev().find_map(|file| file.value["security"]["folderTrust"]["enabled"].as_bool());
    let is_required = setting.unwrap_or(by_default);
    let trust_level = trusted.and_then(|trusted| {
        directory.ancestors().find_map(|ancestor| trusted.value[ancestor.to_string_lossy().as_ref()].as_str())
    });
    match (is_required, trust_level) {
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

    use super::{codex as check_codex, *};

    fn setting(value: Value) -> Setting {
        Setting { path: "/s".into(), value }
    }

    #[test]
    fn claude_codes_switches_are_named() {
        let directory = Path::new("/w");
        let check = |value: Value| claude(&[setting(json!({})), setting(value)], None, directory);
        check(json!({"permissions": {"deny": ["Bash"]}})).unwrap();
        for off in [
            json!({"disableAllHooks": true}),
            json!({"allowManagedHooksOnly": true}),
            json!({"disabledMcpjsonServers": ["x", "plenary"]}),
            json!({"permissions": {"deny": ["mcp__plenary"]}}),
            json!({"permissions": {"deny": ["Bash", "mcp__plenary__send"]}}),
            json!({"deniedMcpServers": [{"serverName": "plenary"}]}),
        ] {
            assert!(check(off.clone()).is_err(), "{off}");
        }
        let state = |value: Value| setting(json!({"projects": {"/w": value}}));
        assert!(claude(&[], Some(&state(json!({"disabledMcpServers": ["plenary"]}))), directory).is_err());
        claude(&[], Some(&state(json!({"disabledMcpServers": ["other"]}))), Path::new("/v")).unwrap();
        let servers =
            |command: &str| json!({"mcpServers": {"plenary": {"command": command, "args": ["mcp"]}}});
        assert!(claude(&[], Some(&state(servers("/bin/true"))), directory).is_err(), "another program");
        claude(&[], Some(&state(servers("/usr/bin/plenary"))), directory).unwrap();
        assert!(claude(&[], Some(&state(json!({"hasTrustDialogAccepted": false}))), directory).is_err());
        check(json!({"permissions": {"deny": ["mcp__plenary2__send"]}})).unwrap();
    }

    #[test]
    fn codexs_switches_are_named() {
        let hooks = Path::new("/w/a/.codex/hooks.json");
        let codex =
            |settings: &[Setting], directory: &str| check_codex(settings, Some(Path::new(directory)), hooks);
        let state = json!({"state": {"/w/a/.codex/hooks.json:stop:0:0": {"trusted_hash": "sha256:0"}}});
        let trusted = json!({"projects": {"/w": {"trust_level": "trusted"}}, "hooks": state});
        let directory = "/w/a";
        codex(&[setting(trusted.clone())], directory).unwrap();
        check_codex(&[setting(json!({"hooks": state}))], None, hooks).unwrap();
        assert!(codex(&[], directory).is_err() && codex(&[setting(trusted.clone())], "/v").is_err());
        assert!(
            codex(&[setting(json!({"projects": trusted["projects"]}))], directory).is_err(),
            "hooks are trusted apart"
        );
        for off in
            [json!({"features": {"hooks": false}}), json!({"mcp_servers": {"plenary": {"enabled": false}}})]
        {
            assert!(codex(&[setting(trusted.clone()), setting(off.clone())], directory).is_err(), "{off}");
        }
    }

    #[test]
    fn gemini_clis_switches_are_named() {
        let directory = Path::new("/w/a");
        let check = |value: Value, trusted: Option<Value>| {
            gemini(&[setting(value)], trusted.map(setting).as_ref(), None, directory)
        };
        assert!(check(json!({}), None).is_err(), "folders are trusted one by one");
        check(json!({"security": {"folderTrust": {"enabled": false}}}), None).unwrap();
        let trusted = || Some(json!({"/w": "TRUST_FOLDER"}));
        check(json!({}), trusted()).unwrap();
        for off in [
            json!({"hooksConfig": {"enabled": false}}),
            json!({"hooksConfig": {"disabled": ["plenary"]}}),
            json!({"mcp": {"excluded": ["plenary"]}}),
            json!({"mcp": {"allowed": ["other"]}}),
        ] {
            assert!(check(off.clone(), trusted()).is_err(), "{off}");
        }
        let settings = json!({"security": {"folderTrust": {"enabled": true}}});
        check(settings.clone(), Some(json!({"/w": "TRUST_FOLDER"}))).unwrap();
        assert!(check(settings, Some(json!({"/w/a": "DO_NOT_TRUST", "/w": "TRUST_FOLDER"}))).is_err());
        let switched = setting(json!({"plenary": {"enabled": false}}));
        assert!(gemini(&[], None, Some(&switched), directory).is_err());
    }
}
