//! Cards (sections 4.4 and 8) and documents of tasks.
//! Must not know: how a card is made.

use blackbox::Server;
use serde_json::{Value, json};

use super::{lines, scene, state};
use crate::a2a::{ECHO, message};

#[tokio::test]
async fn a2a_40_41_42_43_44_45_46_a_card_is_whole_signed_and_may_be_kept() {
    let server = Server::start().await;
    let public =
        json!({"handle": "@nick.shown", "visibility": "public", "display_name": "Shown", "policy": "open"});
    server.operator().post("/_admin/agents", public).await.ok(201);
    let nick = server.agent("@nick.cc").await;
    let path = "/a2a/nick.shown/.well-known/agent-card.json";
    let nobody = server.stranger();
    for (caller, reach) in [(&nobody, "public, max-age="), (&*nick, "private, max-age=")] {
        let answer = caller.get(path).await;
        let card = answer.ok(200);
        for required in ["name", "description", "version", "supportedInterfaces", "capabilities", "skills"] {
            assert!(!card[required].is_null(), "{required}: {card}");
        }
        for modes in ["defaultInputModes", "defaultOutputModes"] {
            assert!(
                card[modes].as_array().is_some_and(|modes| modes.contains(&json!("text/plain"))),
                "{card}"
            );
        }
        assert_eq!(card["supportedInterfaces"][0]["protocolBinding"], "JSONRPC");
        assert!(card["signatures"][0]["protected"].is_string(), "{card}");
        assert!(answer.header("cache-control").is_some_and(|said| said.starts_with(reach)), "{answer}");
        assert_eq!(answer.header("vary"), Some("authorization"), "{answer}");
        let tag = answer.header("etag").expect("a tag").to_owned();
        assert_eq!(
            caller.get(path).await.header("etag"),
            Some(&*tag),
            "although no two signatures are alike"
        );
        for (known, status) in [(&*tag, 304), ("\"another\"", 200), ("*", 304)] {
            let answer = caller.call("GET", path, &[("If-None-Match", known)], None).await;
            assert_eq!((answer.status, answer.header("etag")), (status, Some(&*tag)), "{known}");
            assert_eq!(answer.body.is_empty(), status == 304, "{answer}");
        }
    }
    let tag = async || nobody.get(path).await.header("etag").expect("a tag").to_owned();
    let before = tag().await;
    server.operator().patch("/_admin/agents/@nick.shown", json!({"display_name": "Other"})).await.ok(200);
    assert_ne!(tag().await, before, "another content has another tag");
}

/// What a card says is so: its members have their types, and each interface with a path answers where it says.
#[tokio::test]
async fn a2a_41_42_a_card_is_typed_and_its_interfaces_answer() {
    let (server, nick) = scene().await;
    let card = nick.get(&format!("{ECHO}/.well-known/agent-card.json")).await.ok(200);
    for text in ["name", "description", "version"] {
        assert!(card[text].as_str().is_some_and(|text| !text.is_empty()), "{text}: {card}");
    }
    for list in ["defaultInputModes", "defaultOutputModes"] {
        let modes = card[list].as_array().expect("a list");
        assert!(modes.iter().all(|mode| mode.as_str().is_some_and(|mode| mode.contains('/'))), "{card}");
    }
    for skill in card["skills"].as_array().expect("skills") {
        for text in ["id", "name", "description"] {
            assert!(skill[text].as_str().is_some_and(|text| !text.is_empty()), "{text}: {skill}");
        }
        assert!(skill["tags"].as_array().is_some_and(|tags| !tags.is_empty()), "{skill}");
    }
    assert_eq!(card["capabilities"]["streaming"], true, "{card}");
    assert_eq!(card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer", "{card}");
    let interfaces = card["supportedInterfaces"].as_array().expect("a list");
    let bindings: Vec<_> = interfaces.iter().map(|one| &one["protocolBinding"]).collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON", "GRPC"], "{card}");
    for (one, line) in interfaces.iter().zip(lines(&nick)) {
        assert_eq!(one["protocolVersion"], "1.0", "{one}");
        let base = one["url"]
            .as_str()
            .and_then(|url| url.strip_prefix(&server.url()))
            .expect("a URL of this server");
        let listed = super::Line { base, ..line }.ask("ListTasks", json!({})).await.expect("it answers");
        assert_eq!(listed["tasks"], json!([]), "{one}");
    }
    let grpc = &interfaces[2];
    assert_eq!((&grpc["url"], &grpc["tenant"]), (&json!(server.url()), &json!("plenary.echo")), "{grpc}");
}

/// Text is a text, JSON is data, and only what is neither is bytes.
#[tokio::test]
async fn a2a_47_48_documents_are_parts_of_their_kind_and_an_agent_may_reject() {
    let program = r#"read -r request; case "$request" in
*reject*) printf '%s\n' '{"type":"RunCompleted","finish_reason":"rejected","error":"Not my work."}';;
*) printf '%s\n' '{"type":"ArtifactGenerated","name":"a.json","mime_type":"application/json","content":"{\"a\":[1,true]}"}'
printf '%s\n' '{"type":"ArtifactGenerated","name":"b.json","mime_type":"application/json","content":"{\"a\":1,\"a\":2}"}'
printf '%s\n' '{"type":"ArtifactGenerated","name":"c.md","mime_type":"text/markdown","content":"c"}'
printf '%s\n' '{"type":"RunCompleted","finish_reason":"success"}';;
esac"#;
    let config = format!(
        "[agents.maker]\nkind = \"exec\"\nowner = \"nick\"\ncommand = [\"sh\", \"-c\", {}]\n",
        json!(program)
    );
    let server = Server::builder().config(&config).start().await;
    let nick = server.agent("@nick.cc").await;
    for line in lines(&nick).map(|line| super::Line { base: "/a2a/nick.maker", ..line }) {
        let done = line.task(message("m-1", "make", Value::Null)).await;
        assert_eq!(state(&done), "COMPLETED", "{done}");
        let part = |nth: usize| done["artifacts"][nth]["parts"][0].clone();
        assert_eq!(part(0)["data"], json!({"a": [1, true]}), "{done}");
        assert_eq!(part(0)["mediaType"], "application/json", "{done}");
        assert!(part(1)["raw"].is_string(), "no strict JSON: {done}");
        assert_eq!(part(2)["text"], "c", "{done}");
        let rejected = line.task(message("m-2", "reject", Value::Null)).await;
        assert_eq!(state(&rejected), "REJECTED", "{rejected}");
        assert_eq!(rejected["status"]["message"]["parts"][0]["text"], "Not my work.", "{rejected}");
        let listed = line.ask("ListTasks", json!({"status": "TASK_STATE_REJECTED"})).await.expect("a list");
        assert_eq!(listed["tasks"][0]["id"], rejected["id"], "{listed}");
    }
}

#[tokio::test]
async fn a2a_49_the_extended_card_is_for_those_who_may_ask() {
    let (server, nick) = scene().await;
    for line in lines(&nick) {
        let card = line.ask("GetExtendedAgentCard", json!({})).await.expect("a card");
        assert_eq!(card["capabilities"]["extendedAgentCard"], true, "{card}");
        // One that may not be asked has none, as if it were not there.
        let shut =
            json!({"handle": format!("@acme.shut-{:?}", line.binding).to_lowercase(), "policy": "allowlist"});
        let made = server.operator().post("/_admin/agents", shut).await.ok(201);
        let handle = made["handle"].as_str().expect("a handle").trim_start_matches('@');
        for base in [format!("/a2a/{handle}"), "/a2a/acme.nobody".to_owned()] {
            let asked = super::Line { base: &base, ..line }.ask("GetExtendedAgentCard", json!({})).await;
            assert_eq!(asked, Err("AGENT_NOT_FOUND".into()), "{base}");
        }
        let nobody = server.stranger();
        let refused =
            super::Line { caller: &nobody, ..line }.call("GetExtendedAgentCard", &json!({}), &[]).await;
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")), "{refused}");
    }
}
