//! The entries that `connect` writes, and that `disconnect` removes exactly those.

use proptest::prelude::*;

use super::*;
use crate::cli::{
    connect::{
        coding_agents::{Scope, SettingsRoots},
        plan::{ProgramCommand, plan},
    },
    environment::Environment,
};

fn program() -> ProgramCommand {
    ProgramCommand {
        program: "/opt/my tools/plenary".into(),
        variables: vec![("PLENARY_DATA".into(), "/d".into())],
        arguments: vec!["--url".into(), "http://127.0.0.1:1".into()],
        agent: "@nick.claude-x".into(),
        wake: false,
        approvals: None,
        ask: false,
        http: None,
    }
}

fn forms(agent: CodingAgent, scope: Scope, invocation: &ProgramCommand) -> Vec<(String, Form)> {
    let environment = Environment::of_test(std::path::Path::new("/w"), &[("HOME", "/h")]);
    let roots = SettingsRoots { directory: std::path::Path::new("/w"), environment: &environment };
    let planned = plan(agent, scope, &roots, invocation).unwrap();
    planned.into_iter().map(|file| (file.path.display().to_string(), file.form)).collect()
}

#[test]
fn each_coding_agent_has_its_files() {
    let names = |agent, scope| {
        forms(agent, scope, &program()).into_iter().map(|(path, _)| path).collect::<Vec<_>>().join(" ")
    };
    for (agent, project, user) in [
        (
            CodingAgent::Claude,
            "/w/.mcp.json /w/.claude/settings.local.json",
            "/h/.claude.json /h/.claude/settings.json",
        ),
        (
            CodingAgent::Codex,
            "/w/.codex/config.toml /w/.codex/hooks.json",
            "/h/.codex/config.toml /h/.codex/hooks.json",
        ),
        (CodingAgent::Gemini, "/w/.gemini/settings.json", "/h/.gemini/settings.json"),
        (
            CodingAgent::Cursor,
            "/w/.cursor/mcp.json /w/.cursor/hooks.json",
            "/h/.cursor/mcp.json /h/.cursor/hooks.json",
        ),
    ] {
        assert_eq!(names(agent, Scope::Project), project);
        assert_eq!(names(agent, Scope::User), user);
    }
    assert_eq!(names(CodingAgent::Vscode, Scope::Project), "/w/.vscode/mcp.json");
}

#[test]
fn a_hook_runs_this_program_with_what_only_the_terminal_knew() {
    let forms = forms(CodingAgent::Claude, Scope::Project, &program());
    let text = add_entries(CodingAgent::Claude, "", &forms[1].1, &[]).unwrap().text;
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        settings["hooks"]["Stop"][0]["hooks"][0]["command"],
        "PLENARY_DATA=/d '/opt/my tools/plenary' --url http://127.0.0.1:1 hook Stop --client claude"
    );
    let server = add_entries(CodingAgent::Claude, "", &forms[0].1, &[]).unwrap().text;
    let server: Value = serde_json::from_str(&server).unwrap();
    let expected = serde_json::json!({"type": "stdio", "command": "/opt/my tools/plenary",
        "args": ["--url", "http://127.0.0.1:1", "mcp", "--as", "@nick.claude-x"], "env": {"PLENARY_DATA": "/d"}});
    assert_eq!(server["mcpServers"]["plenary"], expected);
}

#[test]
fn no_form_contains_a_token() {
    let http = ProgramCommand { http: Some("http://127.0.0.1:1/mcp".into()), ..program() };
    for agent in CodingAgent::ALL {
        for (_, form) in forms(agent, Scope::Project, &http) {
            let text = add_entries(agent, "", &form, &[]).unwrap().text;
            assert!(!text.contains("pla_"), "{text}");
        }
    }
    let codex = forms(CodingAgent::Codex, Scope::Project, &http);
    let text = add_entries(CodingAgent::Codex, "", &codex[0].1, &[]).unwrap().text;
    assert!(text.contains("bearer_token_env_var = \"PLENARY_TOKEN\""), "{text}");
    assert!(text.contains("[mcp_servers.plenary]\n") && !text.contains("headers"), "{text}");
}

#[test]
fn a_second_time_changes_nothing_and_a_move_is_followed() {
    for agent in CodingAgent::ALL {
        for scope in [Scope::Project, Scope::User] {
            for ((_, form), (_, moved)) in forms(agent, scope, &program()).into_iter().zip(forms(
                agent,
                scope,
                &ProgramCommand { program: "/new/plenary".into(), ..program() },
            )) {
                let once = add_entries(agent, "", &form, &[]).unwrap();
                let twice = add_entries(agent, &once.text, &form, &once.created).unwrap();
                assert_eq!((&twice.text, &twice.created), (&once.text, &once.created));
                let elsewhere = add_entries(agent, &once.text, &moved, &once.created).unwrap();
                assert_eq!(
                    elsewhere.text,
                    once.text
                        .replace("'/opt/my tools/plenary'", "/new/plenary")
                        .replace("/opt/my tools/plenary", "/new/plenary")
                );
                let rest = remove_entries(agent, &elsewhere.text, &moved, &elsewhere.created).unwrap();
                assert!(rest.is_empty() || rest == "{}\n", "{rest}");
            }
        }
    }
}

#[test]
fn tools_are_no_longer_allowed_when_the_user_wants_to_be_asked() {
    let settings = |ask| {
        forms(CodingAgent::Claude, Scope::Project, &ProgramCommand { ask, ..program() }).swap_remove(1).1
    };
    let theirs = "{\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}\n";
    for before in ["", theirs] {
        let allowed = add_entries(CodingAgent::Claude, before, &settings(false), &[]).unwrap();
        let asked =
            add_entries(CodingAgent::Claude, &allowed.text, &settings(true), &allowed.created).unwrap();
        let fresh = add_entries(CodingAgent::Claude, before, &settings(true), &[]).unwrap();
        assert_eq!((&asked.text, &asked.created), (&fresh.text, &fresh.created));
        let rest =
            remove_entries(CodingAgent::Claude, &asked.text, &settings(false), &asked.created).unwrap();
        assert!(rest == before || (before.is_empty() && rest == "{}\n"), "{rest}");
    }
}

#[test]
fn an_entry_of_the_user_under_our_name_stays_and_is_named() {
    let theirs = r#"{"mcpServers": {"plenary": {"command": "other"}}}"#;
    let (_, form) = forms(CodingAgent::Claude, Scope::Project, &program()).swap_remove(0);
    let Err(SettingsError(why)) = add_entries(CodingAgent::Claude, theirs, &form, &[]) else { panic!() };
    assert!(why.contains("mcpServers/plenary"), "{why}");
    let same = add_entries(CodingAgent::Claude, "", &form, &[]).unwrap().text;
    let unchanged = add_entries(CodingAgent::Claude, &same, &form, &[]).unwrap();
    assert!(unchanged.created.is_empty());
    assert_eq!(
        remove_entries(CodingAgent::Claude, &same, &form, &unchanged.created).unwrap(),
        same,
        "it was theirs"
    );
}

#[test]
fn a_hook_that_was_moved_into_another_group_is_found() {
    let (_, form) = forms(CodingAgent::Claude, Scope::Project, &program()).swap_remove(1);
    let ours = "/opt/plenary hook Stop --client claude";
    let text = serde_json::json!({"hooks": {"Stop": [
        {"matcher": "x", "hooks": [{"command": "theirs"}, {"command": ours}]}, {"hooks": []}
    ]}});
    let rest = remove_entries(CodingAgent::Claude, &text.to_string(), &form, &[]).unwrap();
    assert_eq!(rest, r#"{"hooks":{"Stop":[{"hooks":[{"command":"theirs"}],"matcher":"x"},{"hooks":[]}]}}"#);
}

#[test]
fn a_module_is_a_file_of_ours_alone() {
    let forms = forms(CodingAgent::Opencode, Scope::Project, &program());
    let [(settings, named), (path, module)] = forms.as_slice() else { panic!("{forms:?}") };
    assert_eq!((settings.as_str(), path.as_str()), ("/w/opencode.json", "/w/.plenary/opencode.js"));
    let text = add_entries(CodingAgent::Opencode, "", named, &[]).unwrap().text;
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["plugin"], serde_json::json!(["./.plenary/opencode.js"]));
    assert_eq!(settings["mcp"]["plenary"]["command"][0], "/opt/my tools/plenary");
    let Form::Own(text) = module else { panic!("{module:?}") };
    assert!(
        text.starts_with(OWN_MODULE)
            && text.contains("hook Stop --client opencode")
            && !text.contains("@LINES@")
    );
    assert!(add_entries(CodingAgent::Opencode, "export const Theirs = 1;", module, &[]).is_err());
    assert_eq!(remove_entries(CodingAgent::Opencode, "theirs", module, &[]).unwrap(), "theirs");
}

#[test]
fn hooks_are_written_as_each_coding_agent_reads_them() {
    let written = |agent, scope, nth: usize| {
        let text = add_entries(agent, "", &forms(agent, scope, &program())[nth].1, &[]).unwrap().text;
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let line = |event: &str, client: &str| {
        format!(
            "PLENARY_DATA=/d '/opt/my tools/plenary' --url http://127.0.0.1:1 hook {event} --client {client}"
        )
    };
    let copilot = written(CodingAgent::Copilot, Scope::Project, 1);
    assert_eq!(copilot["version"], 1);
    assert_eq!(copilot["hooks"]["agentStop"][0]["bash"], line("agentStop", "copilot"));
    let droid = written(CodingAgent::Droid, Scope::Project, 1);
    assert_eq!(droid["Stop"][0]["hooks"][0]["command"], line("Stop", "droid"));
    let antigravity = written(CodingAgent::Antigravity, Scope::Project, 1);
    assert_eq!(antigravity["plenary"]["PreInvocation"][0]["command"], line("PostToolUse", "antigravity"));
    let goose = forms(CodingAgent::Goose, Scope::Project, &program());
    let paths: Vec<&str> = goose.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        ["/w/.agents/plugins/plenary/plugin.json", "/w/.agents/plugins/plenary/hooks/hooks.json"]
    );
    assert_eq!(forms(CodingAgent::Kimi, Scope::Project, &program()).len(), 1, "its hooks are the user's");
    let (path, Form::Toml(block)) = &forms(CodingAgent::Kimi, Scope::User, &program())[1] else { panic!() };
    assert_eq!(path, "/h/.kimi-code/config.toml");
    let block: toml::Table = toml::from_str(block).unwrap();
    assert_eq!(block["hooks"][0]["command"].as_str().unwrap(), line("SessionStart", "kimi"));
    let qwen = written(CodingAgent::Qwen, Scope::Project, 0);
    assert_eq!(
        (&qwen["hooks"]["Stop"][0]["hooks"][0]["timeout"], &qwen["mcpServers"]["plenary"]["trust"]),
        (&Value::from(10), &Value::from(true))
    );
}

fn any_settings() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        "[a-z {}/]{0,6}".prop_map(Value::from)
    ];
    let any = plain.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let list = prop::collection::vec(any.clone(), 0..3).prop_map(Value::from);
    let event = "SessionStart|Stop|stop|AfterAgent|Other";
    let hooks = prop::collection::btree_map(event, list.clone(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    let servers = prop::collection::btree_map("[a-z]{1,3}", any.clone(), 0..2)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    let maybe = |strategy: BoxedStrategy<Value>| prop::option::of(strategy);
    let parts = (
        maybe(hooks.boxed()),
        maybe(servers.clone().boxed()),
        maybe(servers.boxed()),
        maybe(list.boxed()),
        any,
    );
    parts.prop_map(|(hooks, mcp, servers, enabled, other)| {
        let mut all = serde_json::Map::new();
        let named =
            [("hooks", hooks), ("mcpServers", mcp), ("servers", servers), ("enabledMcpjsonServers", enabled)];
        all.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        all.insert("zz".into(), other);
        Value::Object(all)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn connecting_and_disconnecting_leaves_every_byte(
        settings in any_settings(), pretty in any::<bool>(), which in 0..CodingAgent::COUNT, user in any::<bool>()
    ) {
        let text = if pretty { serde_json::to_string_pretty(&settings).unwrap() + "\n" } else { settings.to_string() };
        let agent = CodingAgent::ALL[which];
        let scope = if user { Scope::User } else { Scope::Project };
        for (_, form) in forms(agent, scope, &program()) {
            let text = match form {
                Form::Toml(_) => "# mine\na = 1",
                Form::Own(_) => "",
                Form::Json(_) => text.as_str(),
            };
            let changed = add_entries(agent, text, &form, &[]).unwrap();
            let again = add_entries(agent, &changed.text, &form, &changed.created).unwrap();
            prop_assert_eq!((&again.text, &again.created), (&changed.text, &changed.created));
            prop_assert_eq!(remove_entries(agent, &changed.text, &form, &changed.created).unwrap(), text);
        }
    }
}

#[test]
fn the_plugin_is_what_connecting_writes() {
    let plugin = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugins/claude"));
    let read = |name: &str| std::fs::read_to_string(plugin.join(name)).unwrap();
    let json = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap();
    let plain =
        ProgramCommand { program: "plenary".into(), variables: vec![], arguments: vec![], ..program() };
    let forms = forms(CodingAgent::Claude, Scope::User, &plain);
    let written = |form: &Form| {
        let text = add_entries(CodingAgent::Claude, "", form, &[]).unwrap().text;
        serde_json::from_str::<Value>(&text).unwrap()
    };
    assert_eq!(json(".mcp.json"), written(&forms[0].1));
    assert_eq!(json("hooks/hooks.json")["hooks"], written(&forms[1].1)["hooks"]);
    assert_eq!(read("skills/plenary/SKILL.md"), crate::guide::skill());
    let manifest = json(".claude-plugin/plugin.json");
    assert_eq!(
        (&manifest["name"], &manifest["version"]),
        (&Value::from("plenary"), &Value::from(env!("CARGO_PKG_VERSION")))
    );
}
