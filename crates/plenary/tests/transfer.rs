//! Exports, backups and sync of the client, between real servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod stage;

use std::{io::BufReader, path::Path};

use http::Method;
use plenary_client::{
    Client,
    transfer::{ImportOptions, Progress, SyncReport, SyncState, sync},
};
use serde_json::{Value, json};
use stage::{Home, TestServer};

/// A server with its operator's client.
struct Site {
    home: Home,
    served: TestServer,
    client: Client,
}

impl Site {
    fn start(name: &str) -> Self {
        let home = Home::new(name);
        let data = home.work().join("data");
        let served = TestServer::start_with(&home, "127.0.0.1:0", &["--data", data.to_str().unwrap()]);
        let token = std::fs::read_to_string(data.join("operator-token")).unwrap();
        let client = Client::new(served.url.parse().unwrap()).unwrap();
        let client = client.with_token(plenary_client::Token::new(token.trim()).unwrap());
        Self { home, served, client }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let reply = self.client.raw(Method::POST, path, Some(body.to_string().into())).await.unwrap();
        serde_json::from_slice(&reply.into_success().unwrap().body).unwrap()
    }

    async fn get(&self, path: &str) -> Value {
        let reply = self.client.raw(Method::GET, path, None).await.unwrap();
        serde_json::from_slice(&reply.into_success().unwrap().body).unwrap()
    }

    async fn deposit(&self, project: &str, id: &str, further: &Value) {
        let mut package = json!({
            "package_id": id, "project_id": project, "relay_version": "0.1", "title": "t", "status": "complete",
            "package_type": "standard", "review_type": "none", "created_at": "2026-04-18T20:00:00Z",
            "created_by": {"id": "jordan", "type": "human"},
        });
        for (name, value) in further.as_object().unwrap() {
            package[name] = value.clone();
        }
        self.post(&format!("/v1/projects/{project}/packages"), &package).await;
    }

    async fn assert(&self, project: &str, value: &str) {
        let fact = json!({"subject": "s", "predicate": "p", "value": value});
        self.post(&format!("/v1/projects/{project}/facts"), &fact).await;
    }

    /// Everything that it has, without the cursors.
    async fn all(&self) -> Vec<Value> {
        let mut text = Vec::new();
        self.client.export(&[], None, &mut text, &mut |_| {}).await.unwrap();
        let lines = std::str::from_utf8(&text).unwrap().lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("cursor");
            line["data"].as_object_mut().unwrap().remove("since");
            line
        });
        lines.collect()
    }
}

async fn set_up_home(site: &Site) {
    site.deposit("p", "a", &json!({"status": "draft", "x-a": 1.5})).await;
    site.post("/v1/packages/a/flag", &json!({"review_type": "human", "note": "look"})).await;
    site.deposit("q", "a", &json!({"tags": ["other"]})).await;
    for value in ["1", "2"] {
        site.assert("p", value).await;
    }
}

#[tokio::test]
async fn ap_80_a_backup_is_restored_whole() {
    let (from, to) = (Site::start("backed-up"), Site::start("restored"));
    set_up_home(&from).await;
    let dir = from.home.work().join("backup");
    let mut counts = Vec::new();
    let mut progress = |progress: &Progress<'_>| counts.push(progress.records);
    let manifest = from.client.backup(&[], &dir, false, &mut progress).await.unwrap();
    assert_eq!(counts, (1..=6).collect::<Vec<_>>());
    assert_eq!(manifest.project_ids, ["p", "q"]);
    assert_eq!((manifest.counts.packages, manifest.counts.facts), (2, 2));
    let packages = std::fs::read_to_string(dir.join("packages.ndjson")).unwrap();
    let first: Value = serde_json::from_str(packages.lines().next().unwrap()).unwrap();
    assert_eq!((&first["package_id"], first.get("content_hash")), (&json!("a"), None), "bare packages");
    assert!(!dir.with_file_name("backup.part").exists());
    let again = from.client.backup(&[], &dir, false, &mut |_| {}).await.unwrap_err();
    assert!(again.to_string().contains("not empty"), "{again}");

    let options = ImportOptions { dry_run: true, ..ImportOptions::default() };
    let dry = to.client.restore(&dir, &options, &mut |_| {}).await.unwrap();
    assert_eq!((dry.imported, dry.dry_run, dry.complete), (6, true, Some(true)));
    let restored = to.client.restore(&dir, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!((restored.imported, restored.refused_count), (6, 0), "{restored:?}");
    assert_eq!(to.all().await, from.all().await);
    let again = to.client.restore(&dir, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!((again.imported, again.skipped, again.conflicts), (0, 6, 0));

    change(&dir.join("packages.ndjson"), "1.5", "1.6");
    let tampered = to.client.restore(&dir, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!(tampered.refused[0].code, "hash_mismatch");
    change(
        &dir.join("manifest.json"),
        "\"backup_format_version\": \"1\"",
        "\"backup_format_version\": \"2\"",
    );
    let refused = to.client.restore(&dir, &ImportOptions::default(), &mut |_| {}).await.unwrap_err();
    assert!(refused.to_string().contains("format 2"), "{refused}");
}

fn change(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from));
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[tokio::test]
async fn ap_76_a_file_goes_out_and_in() {
    let (from, to) = (Site::start("exported"), Site::start("imported"));
    set_up_home(&from).await;
    let path = from.home.work().join("export.ndjson");
    let mut file = std::fs::File::create(&path).unwrap();
    let exported = from.client.export(&["p".into()], None, &mut file, &mut |_| {}).await.unwrap();
    assert_eq!((exported.counts.projects, exported.counts.packages), (1, 1));
    let open = || Box::new(BufReader::new(std::fs::File::open(&path).unwrap()));
    let report = to.client.import(open(), &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!((report.imported, report.complete), (4, Some(true)), "{report:?}");
    let nothing = from.client.export(&[], Some(&exported.since), &mut Vec::new(), &mut |_| {}).await.unwrap();
    assert_eq!(nothing.counts, plenary_client::transfer::Counts::default());
    let stranger = Client::new(from.served.url.parse().unwrap()).unwrap();
    let refused = stranger.import(open(), &ImportOptions::default(), &mut |_| {}).await.unwrap_err();
    assert!(refused.to_string().contains("missing_authorization"), "{refused}");
}

async fn synced(from: &Site, to: &Site, state: &mut SyncState) -> SyncReport {
    sync(&from.client, (&to.client, None), &[], state, &mut |_| {}).await.unwrap()
}

#[tokio::test]
async fn ap_80_two_servers_come_together() {
    let (a, b) = (Site::start("here"), Site::start("there"));
    set_up_home(&a).await;
    b.deposit("r", "z", &json!({})).await;
    let (mut there, mut back) = (SyncState::default(), SyncState::default());
    let first = synced(&a, &b, &mut there).await;
    assert_eq!((first.projects, first.imported, first.refused_count), (2, 6, 0), "{first:?}");
    let back_again = synced(&b, &a, &mut back).await;
    assert_eq!(
        (back_again.projects, back_again.imported, back_again.refused_count),
        (3, 2, 0),
        "{back_again:?}"
    );
    assert_eq!(a.all().await, b.all().await);
    let quiet = synced(&a, &b, &mut there).await;
    assert_eq!((quiet.imported, quiet.overwritten, quiet.refused_count), (0, 0, 0), "{quiet:?}");
    assert_eq!(synced(&a, &b, &mut there).await.sent, plenary_client::transfer::Counts::default());

    a.post("/v1/packages/a/review?project=p", &json!({"status": "complete"})).await;
    a.assert("p", "3").await;
    b.deposit("p", "b", &json!({})).await;
    let news = synced(&a, &b, &mut there).await;
    assert_eq!((news.overwritten, news.imported, news.refused_count), (2, 1, 0), "{news:?}");
    assert_eq!(synced(&b, &a, &mut back).await.imported, 1);
    assert_eq!(a.all().await, b.all().await);
}

#[tokio::test]
async fn ap_40_a_conflict_is_reported_and_changes_nothing() {
    let (a, b) = (Site::start("one"), Site::start("other"));
    a.deposit("p", "a", &json!({"topic": "x"})).await;
    a.deposit("p", "b", &json!({})).await;
    b.deposit("p", "a", &json!({"topic": "y"})).await;
    a.assert("p", "1").await;
    b.assert("p", "2").await;
    let mut state = SyncState::default();
    for imported in [2, 0] {
        let report = synced(&a, &b, &mut state).await;
        let codes: Vec<&str> = report.refused.iter().map(|refused| refused.code.as_str()).collect();
        assert_eq!((report.imported, codes), (imported, vec!["duplicate_package_id"]));
    }
    assert_eq!(b.get("/v1/packages/a").await["topic"], "y");
    assert_eq!(b.get("/v1/projects/p/facts").await["facts"][0]["value"], "2");
}
