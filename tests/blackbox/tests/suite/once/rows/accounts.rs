//! Accounts: owners, agents, tokens, people, contacts.
//! Must not know: what is demanded of the answers.

use blackbox::Server;
use serde_json::{Value, json};

use super::{EachTime, OTHER, Once, Row, Scene, Takes, row};

/// A body with one entry of an allowlist.
fn entries(entry: &str) -> Value {
    json!({"entries": [entry]})
}

impl Scene {
    pub(in crate::once) async fn accounts(&self, server: &Server) -> Vec<Row> {
        let Self { operator, owner, own, bob, .. } = self;
        for name in ["edit", "gone", "turned", "lists", "account-edit", "account-gone"] {
            server.agent(&format!("@nick.{name}")).await;
        }
        let at = |name: &str, rest: &str| format!("/_admin/agents/@nick.{name}{rest}");
        owner.post(&at("lists", "/allowlist"), json!({"entries": ["@x.y"]})).await.ok(200);
        owner.post(&at("lists", "/blocks"), json!({"handle": "@x.z"})).await.ok(201);
        own.post("/agents/me/allowlist", json!({"entries": ["@x.y"]})).await.ok(200);
        own.post("/agents/me/blocks", json!({"handle": "@x.z"})).await.ok(201);
        operator.put("/_admin/orgs/there", json!({})).await.ok(201);
        let member = |name: &str| format!("/_admin/orgs/there/members/~{name}");
        operator.put(&member("leaves"), json!({"roles": []})).await.ok(200);
        let ask = async |asked: &str| {
            let made = bob.post("/contacts", json!({"to": asked})).await.ok(200);
            made["request_id"].as_str().expect("an id").to_owned()
        };
        let closed = server.closed_agent("@nick.asked", &[]).await;
        let (accepted, declined) = (ask(&closed.handle).await, ask("@nick.own").await);
        let made = owner.post(&at("lists", "/tokens"), json!({"scope": "read"})).await.ok(201);
        let own_made = own.post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201);
        let (token, own_token) =
            (made["id"].as_str().expect("an id"), own_made["id"].as_str().expect("an id"));
        let mut rows = self.provisioning(token);
        rows.extend(self.own_tokens(own_token));
        rows.extend(self.account());
        rows.extend(self.console());
        rows.extend(self.peers().await);
        rows.extend(self.selves_and_contacts(&accepted, &declined));
        rows
    }

    /// The same agents under the paths of RobotNet's command line.
    fn account(&self) -> Vec<Row> {
        let owner = &self.owner;
        let named = |name: &str| json!({"local_name": name, "display_name": "One"});
        vec![
            row(
                "account.create_agent",
                Once,
                owner,
                ("POST", "/agents"),
                (named("account-new"), named("account-newer")),
            ),
            row(
                "account.update_agent",
                Once,
                owner,
                ("PATCH", "/agents/nick/account-edit"),
                (json!({"inbound_policy": "open"}), json!({"inbound_policy": "allowlist"})),
            ),
            row("account.delete_agent", Once, owner, ("DELETE", "/agents/nick/account-gone"), OTHER()),
        ]
    }

    /// Tokens beside an agent's own, and what clients on the web ask for.
    fn own_tokens(&self, token: &str) -> Vec<Row> {
        let Self { own, owner, .. } = self;
        let (one, other) = (json!({"scope": "read"}), json!({"scope": "write"}));
        let mut rows = vec![
            row("me.create_token", Once, own, ("POST", "/agents/me/tokens"), (one, other)),
            row("me.revoke_token", Once, own, ("DELETE", format!("/agents/me/tokens/{token}")), OTHER()),
        ];
        let redirect = |at: &str| json!({"redirect_uris": [at]});
        let clients = (redirect("https://a.example/cb"), redirect("https://b.example/cb"));
        let stored = EachTime("nothing is stored");
        rows.push(row("oauth.register", stored, owner, ("POST", "/oauth/register"), clients));
        for (id, path) in [
            ("oauth.decide", "/oauth/authorize"),
            ("oauth.sign_in", "/oauth/sign-in"),
            ("oauth.token", "/oauth/token"),
            ("oauth.revoke", "/oauth/revoke"),
        ] {
            let each = EachTime("codes, links and refresh tokens are for one use");
            rows.push(row(id, each, owner, ("POST", path), (json!({}), Value::Null)));
        }
        rows
    }

    /// Networks that this one is linked to.
    async fn peers(&self) -> Vec<Row> {
        let operator = &self.operator;
        let peer = |name: &str| json!({"network": format!("https://{name}.example"), "peer": name});
        operator.post("/_admin/peers", peer("leaving")).await.ok(201);
        let code =
            |name: &str| json!({"network": format!("https://{name}.example"), "peer": name, "code": "plp_"});
        let mut rows = vec![
            row("peer.invite", Once, operator, ("POST", "/_admin/peers"), (peer("one"), peer("other"))),
            row(
                "peer.accept",
                Takes::Refused(400),
                operator,
                ("POST", "/_admin/peers/accept"),
                (code("third"), code("fourth")),
            ),
            row("peer.revoke", Once, operator, ("DELETE", "/_admin/peers/leaving"), OTHER()),
            row(
                "peer.check",
                EachTime("the peer is asked each time"),
                operator,
                ("POST", "/_admin/peers/leaving/check"),
                OTHER(),
            ),
        ];
        let signed = EachTime("a signature is good once");
        rows.push(row("link.accept", signed, operator, ("POST", "/link/v1/accords"), OTHER()));
        rows.push(row("link.frame", signed, operator, ("POST", "/link/v1/accords/acc_1/frames"), OTHER()));
        for (id, path) in [
            ("link.offer", "/link/v1/accords/acc_1/offers"),
            ("link.command", "/link/v1/accords/acc_1/commands"),
            ("link.events", "/link/v1/accords/acc_1/events"),
            ("link.file", "/link/v1/accords/acc_1/files"),
            ("link.news", "/link/v1/accords/acc_1/news"),
            ("link.states", "/link/v1/accords/acc_1/states"),
        ] {
            rows.push(row(id, signed, operator, ("POST", path), OTHER()));
        }
        for (id, method) in
            [("link.guest_write", "POST"), ("link.guest_edit", "PATCH"), ("link.guest_delete", "DELETE")]
        {
            let path = "/link/v1/accords/acc_1/as/@a.b/agent-channel/c/event";
            rows.push(row(id, signed, operator, (method, path), OTHER()));
        }
        let of_peer = EachTime("the peer takes the key");
        for (id, method) in [("peer.write", "POST"), ("peer.edit", "PATCH"), ("peer.delete", "DELETE")] {
            let path = "/peers/leaving/agent-channel/c/event";
            rows.push(row(id, of_peer, operator, (method, path), OTHER()));
        }
        rows.push(row("link.revoke", signed, operator, ("POST", "/link/v1/accords/acc_1/revoke"), OTHER()));
        rows
    }

    /// People and their sign-in.
    fn console(&self) -> Vec<Row> {
        let Self { owner, .. } = self;
        vec![
            row(
                "console.link",
                EachTime("a link is for one use"),
                owner,
                ("POST", "/console/links"),
                (json!({"role": "viewer"}), json!({"role": "owner"})),
            ),
            row(
                "console.sign_in",
                EachTime("a link is for one use"),
                owner,
                ("POST", "/console/sessions"),
                (json!({"link": "plk_00.~nick"}), json!({"link": "plk_01.~nick"})),
            ),
            row(
                "console.sign_out",
                Takes::Refused(404),
                owner,
                ("DELETE", "/console/sessions/00000000000000000000000000"),
                OTHER(),
            ),
            row(
                "passkey.challenge",
                EachTime("a challenge is for one use"),
                owner,
                ("POST", "/console/passkeys/challenges"),
                OTHER(),
            ),
            row(
                "passkey.add",
                EachTime("its challenge is for one use"),
                owner,
                ("POST", "/console/passkeys"),
                (
                    json!({"name": "Phone", "client_data": "e30", "authenticator_data": "AA"}),
                    json!({"name": "Laptop", "client_data": "e30", "authenticator_data": "AA"}),
                ),
            ),
            row(
                "passkey.remove",
                Takes::Refused(404),
                owner,
                ("DELETE", "/console/passkeys/00000000000000000000000000"),
                OTHER(),
            ),
            row(
                "person.create",
                Once,
                owner,
                ("POST", "/_admin/people"),
                (json!({"handle": "@nick.mara"}), json!({"handle": "@nick.mia"})),
            ),
        ]
    }

    /// Owners and agents, by who provisions them.
    fn provisioning(&self, token: &str) -> Vec<Row> {
        let Self { operator, owner, .. } = self;
        let at = |name: &str, rest: &str| format!("/_admin/agents/@nick.{name}{rest}");
        vec![
            row(
                "owner.create",
                Once,
                operator,
                ("POST", "/_admin/owners"),
                (json!({"owner": "newly"}), json!({"owner": "other"})),
            ),
            row("owner.rotate_token", Once, operator, ("POST", "/_admin/owners/there/rotate-token"), OTHER()),
            row(
                "agent.create",
                Once,
                owner,
                ("POST", "/_admin/agents"),
                (json!({"handle": "@nick.new"}), json!({"handle": "@nick.newer"})),
            ),
            row(
                "agent.update",
                Once,
                owner,
                ("PATCH", at("edit", "")),
                (json!({"policy": "allowlist"}), json!({"policy": "open"})),
            ),
            row("agent.delete", Once, owner, ("DELETE", at("gone", "")), OTHER()),
            row(
                "agent.create_token",
                Once,
                owner,
                ("POST", at("lists", "/tokens")),
                (json!({"scope": "read"}), json!({"scope": "write"})),
            ),
            row(
                "agent.revoke_token",
                Once,
                owner,
                ("DELETE", at("lists", &format!("/tokens/{token}"))),
                OTHER(),
            ),
            row("agent.rotate_token", Once, owner, ("POST", at("turned", "/rotate-token")), OTHER()),
            row(
                "agent.allow",
                Once,
                owner,
                ("POST", at("lists", "/allowlist")),
                (entries("@a.b"), entries("@a.c")),
            ),
            row("agent.disallow", Once, owner, ("DELETE", at("lists", "/allowlist/@x.y")), OTHER()),
            row(
                "agent.block",
                Once,
                owner,
                ("POST", at("lists", "/blocks")),
                (json!({"handle": "@a.d"}), json!({"handle": "@a.e"})),
            ),
            row("agent.unblock", Once, owner, ("DELETE", at("lists", "/blocks/@x.z")), OTHER()),
        ]
    }

    /// An agent's own settings, organisations, contacts.
    fn selves_and_contacts(&self, accepted: &str, declined: &str) -> Vec<Row> {
        let Self { operator, owner, own, bob, .. } = self;
        let member = |name: &str| format!("/_admin/orgs/there/members/~{name}");
        vec![
            row(
                "me.update",
                Once,
                own,
                ("PATCH", "/agents/me"),
                (json!({"policy": "open"}), json!({"policy": "allowlist"})),
            ),
            row("me.allow", Once, own, ("POST", "/agents/me/allowlist"), (entries("@a.b"), entries("@a.c"))),
            row("me.disallow", Once, own, ("DELETE", "/agents/me/allowlist/@x.y"), OTHER()),
            row(
                "me.block",
                Once,
                own,
                ("POST", "/agents/me/blocks"),
                (json!({"handle": "@a.d"}), json!({"handle": "@a.e"})),
            ),
            row("me.unblock", Once, own, ("DELETE", "/agents/me/blocks/@x.z"), OTHER()),
            row("org.put", Once, operator, ("PUT", "/_admin/orgs/club"), OTHER()),
            row(
                "org.set_member",
                Once,
                operator,
                ("PUT", member("comes")),
                (json!({"roles": ["a"]}), json!({"roles": ["b"]})),
            ),
            row("org.remove_member", Once, operator, ("DELETE", member("leaves")), OTHER()),
            row(
                "contact.request",
                Once,
                bob,
                ("POST", "/contacts"),
                (json!({"to": "@nick.asked", "message": "hi"}), json!({"to": "@nick.asked"})),
            ),
            row("contact.accept", Once, owner, ("POST", format!("/contacts/{accepted}/accept")), OTHER()),
            row("contact.decline", Once, owner, ("POST", format!("/contacts/{declined}/decline")), OTHER()),
            row("auth.ticket", EachTime("a ticket is for one use"), bob, ("POST", "/auth/ticket"), OTHER()),
        ]
    }
}
