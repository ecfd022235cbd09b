//! `plenary peer` on two servers.

use blackbox::{Cli, Server};

use super::Network;

/// A shell of the operator of a server.
fn shell(server: &Server) -> Cli {
    let operator = server.operator();
    Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", operator.token())])
}

#[tokio::test]
async fn an_operator_links_and_unlinks_networks_with_commands() {
    let (acme, rose) = (Network::start().await, Network::start().await);
    acme.server.owner("nick").await;
    acme.server.owner("ann").await;
    let (at_acme, at_rose) = (shell(&acme.server), shell(&rose.server));
    assert!(at_acme.run_ok(&["peer", "list"]).await.is_empty());
    let invite = ["peer", "invite", "rose", &rose.url(), "--grant", "support=nick,ann", "--expires-in", "1h"];
    let printed = at_acme.run_ok(&invite).await;
    let words: Vec<&str> = printed.split_whitespace().collect();
    assert_eq!(words[..4], ["plenary", "peer", "accept", "NAME"], "{printed}");
    let (url, code) = (words[4], words[5]);
    assert_eq!(url, acme.url());
    at_rose.run_ok(&["peer", "accept", "acme", url, code]).await;
    let list = at_rose.run_ok(&["peer", "list"]).await;
    assert!(list.contains("acme") && list.contains("active") && list.contains("support"), "{list}");
    let list = at_acme.run_ok(&["peer", "list"]).await;
    assert!(list.contains("support=ann,nick"), "{list}");
    at_acme.run_ok(&["peer", "check", "rose"]).await;
    at_acme.run_ok(&["peer", "revoke", "rose"]).await;
    let list = at_acme.run_ok(&["peer", "list"]).await;
    assert!(list.contains("revoked"), "{list}");
    let refused = at_acme.run(&["peer", "check", "rose"]).await;
    assert_ne!(refused.code, 0, "{refused:?}");
    let bad = at_acme.run(&["peer", "invite", "rose", &rose.url(), "--grant", "support"]).await;
    assert_ne!(bad.code, 0, "{bad:?}");
}
