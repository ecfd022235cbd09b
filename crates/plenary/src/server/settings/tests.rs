//! The settings that result from flags and the file together.
//! Must not know: how a server is started.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ServeArgs,
}

fn resolve(line: &[&str], file: &str) -> anyhow::Result<Settings> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("plenary.toml");
    std::fs::write(&path, file)?;
    let config = path.to_str().unwrap_or_default();
    let mut command_line = vec!["plenary", "--config", config];
    command_line.extend(line);
    Settings::resolve(&Line::parse_from(command_line).args)
}

#[test]
fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
    let file = "listen = \"127.0.0.1:1\"\ngrace = \"5s\"\ndata = \":memory:\"";
    let settings = resolve(&["--listen", "127.0.0.1:2"], file).unwrap();
    assert_eq!(settings.listen.port(), 2);
    assert_eq!((settings.grace, settings.data), (Duration::from_secs(5), None));
    assert_eq!(resolve(&[], "").unwrap().listen, listen_address::DEFAULT);
}

#[test]
fn a_plain_number_is_a_port_or_seconds() {
    let file = "listen = 7600\ngrace = 30\n[notify]\nretry_for = 60\n[files]\nunnamed_max = 90";
    let settings = resolve(&[], file).unwrap();
    assert_eq!(settings.listen, "127.0.0.1:7600".parse().unwrap());
    assert_eq!(
        (settings.grace, settings.notify.retry_for),
        (Duration::from_secs(30), Duration::from_secs(60))
    );
    assert_eq!(settings.files.unnamed_ms_max, 90_000);
    assert!(resolve(&[], "listen = 70000").unwrap_err().to_string().contains("write an address and a port"));
    assert!(resolve(&[], "grace = -1").unwrap_err().to_string().contains("write a time"));
}

#[test]
fn what_is_wrong_is_said_in_plain_words() {
    for (file, expected) in [
        ("connections_max = \"many\"", "`connections_max = …`: the value must be a whole number from 0"),
        ("frames.rate_per_s = -1", "the value must be a whole number from 0 to 4294967295"),
        ("frames.rate_per_s = 4294967296", "the value must be a whole number from 0 to 4294967295"),
        ("trusted_proxies = \"::1\"", "the value must be a list, such as [\"…\"]"),
        ("seed = 1", "the value must be text in quotes"),
        ("metrics.open = 1", "the value must be true or false"),
        ("quota = 1", "the value must be a table"),
        ("[frames]\ncount = 5", "`count = …`: the value must be text in quotes"),
        ("[frames]\ncount = \"foo\"", "the value must be `exact` or `coarse`"),
        ("[context]\nattributoin = \"own\"", "there is no setting `attributoin` here, only "),
    ] {
        let error = resolve(&[], file).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
}

#[test]
fn values_that_work_for_nothing_are_refused() {
    for (file, expected) in [
        ("[notify]\ncontact = \"me\"", "`contact` in [notify] must begin with mailto: or https://"),
        ("[quota]\nuploads_per_owner_max = 0", "`uploads_per_owner_max` in [quota] must be at least 1"),
        (
            "connections_per_address_max = 0",
            "`connections_per_address_max` in the configuration file must be",
        ),
    ] {
        let error = resolve(&[], file).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
    assert!(resolve(&[], "[notify]\ncontact = \"mailto:me@a.example\"").is_ok());
}

#[test]
fn what_named_the_address_is_known() {
    let source = |line: &[&str], file: &str| resolve(line, file).unwrap().listen_source;
    assert_eq!(source(&["--listen", "7421"], ""), ListenSource::Flag);
    assert!(
        matches!(source(&[], "listen = \"localhost:7600\""), ListenSource::File(path) if path.ends_with("plenary.toml"))
    );
    assert_eq!(source(&[], ""), ListenSource::Default);
}

#[test]
fn contents_are_kept_beside_the_store_unless_it_is_said_where() {
    let blobs_of = |line: &[&str], file: &str| resolve(line, file).unwrap().blobs;
    assert_eq!(blobs_of(&["--data", "/d"], ""), Some(Location::Own("/d/blobs".into())));
    assert_eq!(blobs_of(&["--data", ":memory:"], ""), Some(Location::Memory));
    assert_eq!(blobs_of(&["--data", "/d", "--database", "postgres://h/d"], ""), None);
    let bucket = Some(Location::Bucket { bucket: "b".into(), prefix: "p".into() });
    assert_eq!(blobs_of(&["--database", "postgres://h/d", "--blobs", "s3://b/p"], ""), bucket);
    assert_eq!(blobs_of(&["--data", "/d"], "blobs = \"s3://b/p\""), bucket);
    assert_eq!(
        blobs_of(&["--blobs", "file:///e"], "blobs = \"s3://b/p\""),
        Some(Location::Directory("/e".into()))
    );
    assert!(resolve(&["--blobs", "blobs"], "").is_err());
    assert_eq!(resolve(&[], "blob_octets_max = 9").unwrap().context.blob_bytes_max, 9);
    assert_eq!(resolve(&[], "").unwrap().context.blob_bytes_max, 64 << 20);
}

#[test]
fn ap_57_the_context_table_is_heeded() {
    let context = |file: &str| resolve(&[], file).unwrap().context;
    let default = plenary_context::Config::default();
    assert!(context("").auto_create_projects && context("").attribution == default.attribution);
    let set = context("[context]\nauto_create_projects = false\nattribution = \"open\"");
    assert!(!set.auto_create_projects);
    assert_eq!(set.attribution, plenary_context::attribution::Attribution::Open);
    assert!(resolve(&[], "[context]\nattribution = \"any\"").is_err());
    assert!(resolve(&[], "[context]\nauto_create = true").is_err(), "a setting that nobody knows");
}

#[test]
fn a_neighbour_is_told_an_address_that_it_can_reach() {
    let near = |line: &[&str], address: &str| resolve(line, "").unwrap().near(address.parse().unwrap());
    assert_eq!(near(&[], "0.0.0.0:7"), "http://127.0.0.1:7");
    assert_eq!(near(&[], "[::]:7"), "http://[::1]:7");
    assert_eq!(near(&["--public-url", "http://far.example"], "10.0.0.1:7"), "http://10.0.0.1:7");
    let tls = ["--tls-cert", "c", "--tls-key", "k"];
    assert_eq!(near(&tls, "127.0.0.1:7"), "https://127.0.0.1:7");
    let named = [&tls[..], &["--public-url", "https://far.example"]].concat();
    assert_eq!(near(&named, "0.0.0.0:7"), "https://far.example");
}

#[test]
fn a_network_without_tls_is_in_clear() {
    let is_in_clear = |line: &[&str]| resolve(line, "").unwrap().is_in_clear();
    assert!(is_in_clear(&["--listen", "0.0.0.0:1"]) && !is_in_clear(&[]));
    assert!(!is_in_clear(&["--listen", "0.0.0.0:1", "--public-url", "https://agents.example"]));
    assert!(!is_in_clear(&["--listen", "0.0.0.0:1", "--tls-cert", "c", "--tls-key", "k"]));
}

#[test]
fn what_is_wrong_in_the_file_is_said() {
    assert!(resolve(&[], "listne = 1").is_err(), "a setting that nobody knows");
    assert!(resolve(&[], "grace = \"soon\"").is_err());
    assert!(resolve(&[], "trusted_proxies = [\"proxy\"]").is_err());
    assert!(resolve(&[], "[channels]\nstatus_cadence_seconds = 0").is_err());
    assert!(resolve(&[], "tls_cert = \"a.pem\"").is_err(), "a certificate without its key");
    assert!(
        resolve(&["--tls-cert", "b.pem"], "tls_cert = \"a.pem\"\ntls_key = \"a.key\"").is_ok(),
        "its key in the file"
    );
    assert!(resolve(&["--embeddings", "nothing"], "").is_err(), "no model");
}

#[test]
fn a_model_is_named_by_a_flag_or_in_the_file() {
    let named = |line: &[&str], file| resolve(line, file).unwrap().embeddings;
    assert_eq!(named(&[], ""), None);
    let file = "embeddings = \"local:/there\"";
    assert_eq!(named(&[], file), "local:/there".parse().ok());
    assert_eq!(named(&["--embeddings", "local:here"], file), "local:here".parse().ok());
}

#[test]
fn ch_8_answers_name_the_public_url_or_the_address() {
    let base = |line: &[&str]| {
        let origin = resolve(line, "").unwrap().origin("127.0.0.1:7420".parse().unwrap());
        origin.base_url("127.0.0.1:9".parse().unwrap(), &http::HeaderMap::new())
    };
    assert_eq!(base(&[]), "http://127.0.0.1:7420");
    assert_eq!(base(&["--public-url", "https://agents.example/base/"]), "https://agents.example/base");
}

#[test]
fn ch_3_the_cadence_has_one_knob() {
    let cadence = |line: &[&str], file| resolve(line, file).unwrap().channels.cadence.0;
    assert_eq!(cadence(&[], ""), 60);
    assert_eq!(cadence(&[], "[channels]\nstatus_cadence_seconds = 5"), 5);
    let flag = ["--channels-status-cadence-seconds", "7"];
    assert_eq!(cadence(&flag, "[channels]\nstatus_cadence_seconds = 5"), 7);
    let table = "[channels]\nopen = true\nreject_after_close = true";
    let channels = resolve(&[], table).unwrap().channels;
    assert!(channels.open && channels.reject_after_close);
}

#[test]
fn a_server_that_accepts_no_connection_is_refused() {
    assert!(resolve(&[], "connections_max = 0").unwrap_err().to_string().contains("at least 1"));
    assert_eq!(resolve(&[], "connections_max = 1").unwrap().connections_max, Some(1));
}

#[test]
fn the_database_is_postgresql() {
    for (url, is_accepted) in [
        ("postgres://h/d", true),
        ("postgresql://h/d", true),
        ("host=h dbname=d", true),
        ("mysql://u:geheim@h/d", false),
        ("foo", false),
    ] {
        let resolved = resolve(&["--database", url], "");
        assert_eq!(resolved.is_ok(), is_accepted, "{url}");
        assert!(resolved.map(drop).err().is_none_or(|error| !error.to_string().contains("geheim")));
    }
}
