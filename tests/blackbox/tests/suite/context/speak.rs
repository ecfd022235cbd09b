//! Packages, facts and times as these tests write them, and what every answer about them must be.
//! Must not know: what the single tests are about.

use blackbox::{Agent, Caller, Response, Server, epoch_ms};
use serde_json::{Value, json};

use super::canonical::hash_of;

/// The project of most tests.
pub(super) const PROJECT: &str = "proj_dev_relay";

/// A server with one agent, `@nick.cc-laptop`.
pub(super) async fn desk() -> (Server, Agent) {
    let (server, [nick]) = Server::with(["@nick.cc-laptop"]).await;
    (server, nick)
}

/// The nine required members, and nothing else.
pub(super) fn package(by: &str, id: &str) -> Value {
    json!({
        "package_id": id, "project_id": PROJECT, "relay_version": "0.1", "title": "Shipped archive/de-archive",
        "status": "complete", "package_type": "milestone", "review_type": "none",
        "created_at": "2026-04-18T20:00:00Z", "created_by": {"id": by, "type": "agent"},
    })
}

/// The same with other members on top.
pub(super) fn package_with(by: &str, id: &str, members: Value) -> Value {
    with(package(by, id), members)
}

/// An object with the members of another laid over its own.
pub(super) fn with(mut object: Value, members: Value) -> Value {
    let Value::Object(members) = members else { panic!("members are an object") };
    for (name, value) in members {
        object[name] = value;
    }
    object
}

/// Everything but the unreserved characters, percent-encoded.
pub(super) fn enc(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

pub(super) fn packages_of(project: &str) -> String {
    format!("/v1/projects/{}/packages", enc(project))
}

pub(super) fn facts_of(project: &str) -> String {
    format!("/v1/projects/{}/facts", enc(project))
}

pub(super) fn package_at(id: &str) -> String {
    format!("/v1/packages/{}", enc(id))
}

/// Deposits into the project that the package names.
pub(super) async fn deposit(caller: &Caller, package: &Value) -> Response {
    let project = package["project_id"].as_str().unwrap_or(PROJECT);
    caller.post(&packages_of(project), package.clone()).await
}

/// Deposits and demands that it is new.
pub(super) async fn deposited(caller: &Caller, package: &Value) {
    let response = deposit(caller, package).await;
    assert_package(&response, 201, package);
}

/// The package as a single read gives it, checked against its hash, without `content_hash`.
pub(super) async fn pull(caller: &Caller, id: &str) -> Value {
    pull_at(caller, &package_at(id)).await
}

/// The same at another path.
pub(super) async fn pull_at(caller: &Caller, path: &str) -> Value {
    let response = caller.get(path).await;
    let found = bare(response.ok(200));
    assert_package(&response, 200, &found);
    found
}

/// D.4: the package as it was, and its hash in body, header and ETag (AP-35, AP-36).
#[track_caller]
pub(super) fn assert_package(response: &Response, status: u16, package: &Value) {
    let body = response.ok(status);
    let hash = hash_of(&package.to_string());
    assert_eq!(body["content_hash"], json!(hash), "the hash of what was deposited: {response}");
    assert_hash_headers(response, &hash);
    assert_eq!(bare(body), *package, "the package as it was deposited: {response}");
}

/// D.4: `X-Content-Hash`, and the ETag is that value quoted.
#[track_caller]
pub(super) fn assert_hash_headers(response: &Response, hash: &str) {
    assert_eq!(response.header("x-content-hash"), Some(hash), "{response}");
    assert_eq!(response.header("etag"), Some(format!("\"{hash}\"").as_str()), "{response}");
}

/// A deposit's or single read's body without its sibling member.
pub(super) fn bare(mut body: Value) -> Value {
    body.as_object_mut().expect("an object").remove("content_hash");
    body
}

/// A refusal that names the member it is about.
#[track_caller]
pub(super) fn refused(response: &Response, status: u16, code: &str, field: &str) {
    response.assert_refused(status, code);
    assert_field(response, field);
}

/// D.3: `error.field`.
#[track_caller]
pub(super) fn assert_field(response: &Response, field: &str) {
    assert_eq!(response.json()["error"]["field"], json!(field), "the field is named: {response}");
}

/// The elements of a list under that name.
#[track_caller]
pub(super) fn list(body: &Value, name: &str) -> Vec<Value> {
    body[name].as_array().unwrap_or_else(|| panic!("{name} is a list: {body}")).clone()
}

/// One member of each element, as text.
pub(super) fn texts(items: &[Value], member: &str) -> Vec<String> {
    let text =
        |item: &Value| item[member].as_str().unwrap_or_else(|| panic!("no {member}: {item}")).to_owned();
    items.iter().map(text).collect()
}

/// `GET …/packages?mode=latest` with further parameters; the bare packages.
pub(super) async fn latest(caller: &Caller, more: &str) -> Vec<Value> {
    let path = format!("{}?mode=latest{more}", packages_of(PROJECT));
    list(&caller.get(&path).await.ok(200), "packages")
}

/// Asserts a fact and demands that it is new.
pub(super) async fn assert_fact(caller: &Caller, body: Value) -> Value {
    caller.post(&facts_of(PROJECT), body).await.ok(201)
}

/// `GET …/facts` with these parameters.
pub(super) async fn facts(caller: &Caller, query: &str) -> Vec<Value> {
    list(&caller.get(&format!("{}?{query}", facts_of(PROJECT))).await.ok(200), "facts")
}

/// The instant of a UTC time, in a form that sorts: seconds and nine digits of fraction.
#[track_caller]
pub(super) fn instant(value: &Value) -> String {
    let text = value.as_str().unwrap_or_else(|| panic!("no time: {value}"));
    let plain = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"));
    let plain = plain.unwrap_or_else(|| panic!("not in UTC (AP-70): {text}"));
    let (seconds, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    assert_eq!(seconds.len(), 19, "RFC 3339: {text}");
    assert!(fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit()), "RFC 3339: {text}");
    format!("{seconds}.{fraction:0<9}")
}

/// The time so many milliseconds ago, RFC 3339 UTC.
pub(super) fn ago(ms: i64) -> String {
    at(epoch_ms() - ms)
}

/// The time so many milliseconds after 1970, RFC 3339 UTC.
pub(super) fn at(at: i64) -> String {
    let (days, rest) = (at.div_euclid(86_400_000), at.rem_euclid(86_400_000));
    // Days since 1 March of year 0, in eras of 400 years.
    let day = days + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, millis) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// The present to the microsecond, which has passed when a request arrives.
#[expect(clippy::disallowed_methods, reason = "the suite stands outside the server and has no Stamp")]
pub(super) fn present() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let since = since.expect("the clock is past 1970");
    let ms = i64::try_from(since.as_millis()).expect("milliseconds fit");
    let whole = at(ms);
    format!("{}{:03}Z", whole.trim_end_matches('Z'), since.subsec_micros() % 1_000)
}

/// So many days, in milliseconds.
pub(super) fn days(count: i64) -> i64 {
    count * 86_400_000
}
