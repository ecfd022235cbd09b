//! Who may read the metrics: programs on the server's machine, and the operator from anywhere.

use blackbox::{Response, Server};

async fn metrics(server: &Server, headers: &[(&str, &str)]) -> Response {
    server.stranger().call("GET", "/metrics", headers, None).await
}

/// What comes through a proxy is from elsewhere, whether the proxy is believed or not.
#[tokio::test]
async fn from_elsewhere_metrics_are_for_the_operator() {
    for config in ["", "trusted_proxies = [\"127.0.0.1\"]\n"] {
        let server = Server::builder().config(config).start().await;
        let owner = server.owner("nick").await;
        assert_eq!(metrics(&server, &[]).await.status, 200, "a scraper on this machine needs no token");
        for header in [
            ("X-Forwarded-For", "192.0.2.7"),
            ("X-Real-IP", "192.0.2.7"),
            ("Forwarded", "for=192.0.2.7"),
            ("Via", "1.1 proxy"),
        ] {
            let answer = metrics(&server, &[header]).await;
            assert_eq!(answer.status, 401, "{answer}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert!(!answer.text().contains("plenary_"), "{answer}");
            assert_eq!(owner.call("GET", "/metrics", &[header], None).await.status, 401);
            assert_eq!(server.operator().call("GET", "/metrics", &[header], None).await.status, 200);
        }
    }
}

/// An operator may show them to everybody.
#[tokio::test]
async fn metrics_may_be_opened() {
    let server = Server::builder().config("[metrics]\nopen = true\n").start().await;
    assert_eq!(metrics(&server, &[("X-Forwarded-For", "192.0.2.7")]).await.status, 200);
}

/// How the log is written: each append that was answered is counted with its time, and none waits afterwards.
#[tokio::test]
async fn appends_to_the_log_are_measured() {
    let server = Server::start().await;
    let value = async |name: &str| {
        let text = metrics(&server, &[]).await.text();
        let line =
            text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default().to_owned();
        line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok()).expect("a number")
    };
    let before = value("plenary_log_append_duration_seconds_count").await;
    server.agent("@nick.one").await;
    assert!(value("plenary_log_append_duration_seconds_count").await > before);
    assert!(value("plenary_log_append_duration_seconds_sum").await > 0.0);
    blackbox::eventually("no append waits", || async {
        (value("plenary_log_appends_waiting").await == 0.0).then_some(())
    })
    .await;
}
