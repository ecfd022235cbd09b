//! Each protocol refuses in its own form also what no operation serves: a wrong method, and a path that is not UTF-8
//! (wire.md D.3).

use blackbox::Server;

#[tokio::test]
async fn a_wrong_method_and_an_unreadable_id_are_refused_in_the_form_of_the_protocol() {
    let (_server, [agent]) = Server::with(["@nick.a"]).await;
    for (method, path, status, member) in [
        ("PUT", "/frames", 405, "message"),
        ("PUT", "/agent-channel", 405, "detail"),
        ("GET", "/handles/%ff/roster", 400, "message"),
        ("GET", "/agent-channel/%ff", 404, "detail"),
        ("GET", "/agent-channel/%ff/events", 404, "detail"),
        ("GET", "/agent/%ff/describe", 404, "detail"),
        ("GET", "/sessions/%ff", 404, "error"),
        ("GET", "/files/%ff", 404, "error"),
        ("GET", "/v1/packages/%ff", 404, "error"),
    ] {
        let answer = agent.call(method, path, &[], None).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer}");
        assert!(answer.json().get(member).is_some(), "{method} {path}: {answer}");
    }
}
