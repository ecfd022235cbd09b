//! The framing by table, with the bytes split in every way.
//! Must not know: sockets.

use proptest::prelude::*;

use super::{
    Fault,
    framing::{NextStep, RequestScanner, ScanResult},
};

const GOOD_HEAD: &str = "GET / HTTP/1.1\r\nHost: a\r\n";

/// The bytes that pass if the input comes in these pieces, and the error at its end.
fn run<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, NextStep) {
    let mut framing = RequestScanner::new();
    let (mut passed, mut buffer) = (Vec::new(), Vec::new());
    let mut last = NextStep::Go;
    for piece in pieces {
        buffer.extend_from_slice(piece);
        let ScanResult { passed: good, then } = framing.scan(&buffer);
        passed.extend(buffer.drain(..good));
        last = then;
        match last {
            NextStep::Go => assert!(buffer.is_empty()),
            NextStep::Hold => assert!(!buffer.is_empty()),
            NextStep::Upgrade | NextStep::RefuseHead(_) | NextStep::RefuseBody(_) => break,
        }
    }
    (passed, last)
}

fn whole(bytes: &[u8]) -> (Vec<u8>, NextStep) {
    run([bytes])
}

fn with(headers: &str) -> String {
    format!("{GOOD_HEAD}{headers}\r\n")
}

fn chunked(body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}

fn refused_heads() -> Vec<(String, Fault)> {
    [refused_lines(), refused_headers(), refused_framings()].concat()
}

fn refused_headers() -> Vec<(String, Fault)> {
    let get = "GET / HTTP/1.1\r\n";
    vec![
        ("GET / HTTP/1.1\nHost: a\r\n\r\n".into(), Fault::BareLineFeed),
        (format!("{GOOD_HEAD}X: y\n\r\n"), Fault::BareLineFeed),
        (format!("{GOOD_HEAD}\n"), Fault::BareLineFeed),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".into(), Fault::BareLineFeed),
        (with("X: y\r\n z\r\n"), Fault::FoldedHeader),
        (format!("{get} Host: a\r\n\r\n"), Fault::FoldedHeader),
        (with("X : y\r\n"), Fault::SpaceBeforeColon),
        (with("Content-Length\t: 1\r\n"), Fault::SpaceBeforeColon),
        (with(": y\r\n"), Fault::HeaderName),
        (with("no colon\r\n"), Fault::HeaderName),
        (with("X\u{e9}: y\r\n"), Fault::HeaderName),
        (with("X\0: y\r\n"), Fault::HeaderName),
        (with("X(: y\r\n"), Fault::HeaderName),
        (with("X: a\0b\r\n"), Fault::HeaderValue),
        (with("X: a\rb\r\n"), Fault::HeaderValue),
        (with("X: a\u{b}b\r\n"), Fault::HeaderValue),
        (with("X: a\u{7f}b\r\n"), Fault::HeaderValue),
        (with("X: a\r\r\n"), Fault::HeaderValue),
        (format!("{get}\r\n"), Fault::HostMissing),
        (with("Host: a\r\n"), Fault::HostRepeated),
        (with("hOsT: b\r\n"), Fault::HostRepeated),
        (format!("{get}Host: a b\r\n\r\n"), Fault::Host),
        (format!("{get}Host: a/b\r\n\r\n"), Fault::Host),
        (format!("{get}Host: a@b\r\n\r\n"), Fault::Host),
        (format!("{get}Host: a, b\r\n\r\n"), Fault::Host),
        (with(&format!("X: {}\r\n", "y".repeat(16 << 10))), Fault::HeadTooLarge),
        (with(&"X: y\r\n".repeat(100)), Fault::HeadersTooMany),
    ]
}

fn refused_framings() -> Vec<(String, Fault)> {
    vec![
        (with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), Fault::LengthAndCoding),
        (with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), Fault::LengthAndCoding),
        (with("Content-Length: 3\r\nContent-Length: 3\r\n"), Fault::LengthRepeated),
        (with("Content-Length: 3\r\ncontent-length: 4\r\n"), Fault::LengthRepeated),
        (with("Content-Length: 3, 3\r\n"), Fault::Length),
        (with("Content-Length: +3\r\n"), Fault::Length),
        (with("Content-Length: -1\r\n"), Fault::Length),
        (with("Content-Length: 0x3\r\n"), Fault::Length),
        (with("Content-Length: 3 4\r\n"), Fault::Length),
        (with("Content-Length:\r\n"), Fault::Length),
        (with("Content-Length: 18446744073709551616\r\n"), Fault::Length),
        (with("Transfer-Encoding: gzip\r\n"), Fault::Coding),
        (with("Transfer-Encoding: gzip, chunked\r\n"), Fault::Coding),
        (with("Transfer-Encoding: chunked, chunked\r\n"), Fault::Coding),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), Fault::Coding),
        (with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), Fault::Coding),
        (with("Transfer-Encoding: xchunked\r\n"), Fault::Coding),
        (with("Transfer-Encoding: \"chunked\"\r\n"), Fault::Coding),
        (with("Transfer-Encoding:\r\n"), Fault::Coding),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(), Fault::Coding),
        (with("Upgrade: websocket\r\nContent-Length: 1\r\n"), Fault::UpgradeBody),
        (with("Upgrade: websocket\r\nTransfer-Encoding: chunked\r\n"), Fault::UpgradeBody),
    ]
}

fn refused_lines() -> Vec<(String, Fault)> {
    let line = |line: &str| format!("{line}\r\nHost: a\r\n\r\n");
    vec![
        (line("GET /"), Fault::RequestLine),
        (line("GET  / HTTP/1.1"), Fault::RequestLine),
        (line("GET / HTTP/1.1 "), Fault::RequestLine),
        (line(" GET / HTTP/1.1"), Fault::RequestLine),
        (line("GET /a b HTTP/1.1"), Fault::RequestLine),
        (line("GET\t/\tHTTP/1.1"), Fault::RequestLine),
        (line("GET /\u{e9} HTTP/1.1"), Fault::RequestLine),
        (line("GET /\0 HTTP/1.1"), Fault::RequestLine),
        (line("GET /a#b HTTP/1.1"), Fault::RequestLine),
        (line("GET a HTTP/1.1"), Fault::RequestLine),
        (line("GET * HTTP/1.1"), Fault::RequestLine),
        (line("GET ftp://a/ HTTP/1.1"), Fault::RequestLine),
        (line("G{T / HTTP/1.1"), Fault::RequestLine),
        (line("GET / http/1.1"), Fault::RequestLine),
        (line("PLENARY-FAULT / HTTP/1.1"), Fault::RequestLine),
        (line("GET / HTTP/1.2"), Fault::Version),
        (line("GET / HTTP/1.10"), Fault::Version),
        (line("PRI * HTTP/2.0"), Fault::Version),
        (line("CONNECT a:1 HTTP/1.1"), Fault::Connect),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".into(), Fault::RequestLine),
        ("\u{16}\u{3}\u{1}\u{2}".into(), Fault::TlsOnPlainPort),
        ("\u{1}".into(), Fault::RequestLine),
        (format!("GET /{}", "y".repeat(16 << 10)), Fault::HeadTooLarge),
    ]
}

fn refused_bodies() -> Vec<(String, Fault)> {
    vec![
        (chunked("3\nabc\r\n0\r\n\r\n"), Fault::BareLineFeed),
        (chunked("3\r\nabc\n0\r\n\r\n"), Fault::BareLineFeed),
        (chunked("3\r\nabcd\r\n0\r\n\r\n"), Fault::Chunk),
        (chunked("\r\n"), Fault::Chunk),
        (chunked("-1\r\n"), Fault::Chunk),
        (chunked("0x3\r\nabc\r\n0\r\n\r\n"), Fault::Chunk),
        (chunked(" 3\r\nabc\r\n0\r\n\r\n"), Fault::Chunk),
        (chunked("3 \r\nabc\r\n0\r\n\r\n"), Fault::Chunk),
        (chunked("3;a\nb\r\nabc\r\n0\r\n\r\n"), Fault::BareLineFeed),
        (chunked("3;a\rb\r\nabc\r\n0\r\n\r\n"), Fault::Chunk),
        (chunked("3;a\0\r\nabc\r\n0\r\n\r\n"), Fault::Chunk),
        (chunked("1000000000000000\r\n"), Fault::Chunk),
        (chunked(&format!("3;{}\r\n", "x".repeat(300))), Fault::Chunk),
        (chunked("0\r\nX: y\n\r\n"), Fault::BareLineFeed),
        (chunked("0\r\n X: y\r\n\r\n"), Fault::FoldedHeader),
        (chunked("0\r\nX: \0\r\n\r\n"), Fault::Chunk),
        (chunked(&format!("0\r\n{}\r\n", "X: y\r\n".repeat(700))), Fault::TrailersTooLarge),
    ]
}

fn passing() -> Vec<String> {
    let get = with("");
    vec![
        get.clone(),
        format!("\r\n{get}"),
        format!("{get}{get}{get}"),
        "GET / HTTP/1.0\r\n\r\n".into(),
        "OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n".into(),
        "GET http://a/b?c=%20d HTTP/1.1\r\nHost: [::1]:80\r\n\r\n".into(),
        with("X:y\r\nX:\r\nX: \t y \t\r\nX: \u{e9}\u{20ac}\r\nContent-Length: 0\r\n"),
        with("Upgrade: h2c\r\nContent-Length: 00002\r\n") + "ab" + &get,
        with(&"X: y\r\n".repeat(99)),
        with("Content-Length: 5\r\n") + "a\nb\0c" + &get,
        chunked("3\r\nabc\r\n0\r\n\r\n") + &get,
        chunked("00a;x=\"y\"\r\n0123456789\r\nB\r\n\r\n\n\r\0chunk\r\r\n0\r\nX: y\r\n\r\n") + &get,
        with("transfer-encoding: CHUNKED \r\n") + "0\r\n\r\n" + &get,
    ]
}

#[test]
fn what_is_well_framed_passes_unchanged() {
    for text in passing() {
        assert_eq!(whole(text.as_bytes()), (text.clone().into_bytes(), NextStep::Go), "{text}");
    }
}

#[test]
fn a_refused_head_is_dropped_and_the_requests_before_it_pass() {
    for (text, fault) in refused_heads() {
        assert_eq!(whole(text.as_bytes()), (Vec::new(), NextStep::RefuseHead(fault)), "{text}");
        let before = with("Content-Length: 2\r\n") + "ab";
        let pipelined = format!("{before}{text}");
        assert_eq!(whole(pipelined.as_bytes()), (before.into_bytes(), NextStep::RefuseHead(fault)), "{text}");
    }
}

#[test]
fn a_refused_body_passes_up_to_the_fault() {
    for (text, fault) in refused_bodies() {
        let (passed, then) = whole(text.as_bytes());
        assert_eq!(then, NextStep::RefuseBody(fault), "{text}");
        assert!(text.as_bytes().starts_with(&passed), "{text}");
    }
}

#[test]
fn nothing_passes_after_a_websocket_handshake() {
    let handshake = with("Connection: Upgrade\r\nUpgrade: WebSocket\r\n");
    let early = format!("{handshake}{}", with(""));
    assert_eq!(whole(early.as_bytes()), (handshake.clone().into_bytes(), NextStep::Upgrade));
    assert_eq!(whole(handshake.as_bytes()), (handshake.into_bytes(), NextStep::Upgrade));
}

proptest! {
    #[test]
    fn the_pieces_in_which_bytes_come_do_not_matter(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut texts = passing();
        texts.extend(refused_heads().into_iter().chain(refused_bodies()).map(|(text, _)| text));
        let text = which.get(&texts).as_bytes();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let (passed, then) = run(cuts.windows(2).map(|w| &text[w[0]..w[1]]).filter(|piece| !piece.is_empty()));
        prop_assert_eq!((passed, then), whole(text));
    }

    #[test]
    fn any_bytes_end_in_an_answer(text in "[A-Z /:\r\n0-9;\0]{0,200}", byte_by_byte in any::<bool>()) {
        let text = format!("{}{text}", chunked(""));
        let size = if byte_by_byte { 1 } else { text.len() };
        let (passed, _) = run(text.as_bytes().chunks(size));
        prop_assert!(text.as_bytes().starts_with(&passed));
    }
}
