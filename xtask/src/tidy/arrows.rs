//! The allowed dependencies between crates, and the crates that may use databases or terminals.
//! Must not know: Rust source; it reads manifests.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::{
    Finding,
    tree::{File, Tree},
};

/// The protocol rooms: they depend on accounts, but not on each other.
pub(super) const PROTOCOLS: &[&str] = &["sessions", "frames", "channels", "context", "runs", "requests"];

/// The dependencies that a protocol room may have.
const BELOW_PROTOCOLS: &[&str] = &[
    "kernel",
    "log",
    "retrieval",
    "engine",
    "hub",
    "indexing",
    "blobs",
    "telemetry",
    "edge",
    "room",
    "accounts",
];

/// The backends: only the binary, tests and benchmarks may name them.
const BACKENDS: &[&str] = &[
    "log-sqlite",
    "log-postgres",
    "log-cluster",
    "journal",
    "retrieval-postgres",
    "retrieval-sqlite",
    "retrieval-vectors",
];

/// The binary combines all crates and the automation measures it: both may name any crate.
const WHOLE: &[&str] = &["plenary", "xtask"];

/// Programs with their parts, and tests, beside the libraries.
const PROGRAMS: &[&str] = &["plenary", "command-line", "xtask", "bench", "blackbox"];

/// The dependencies that every other crate may have.
const ARROWS: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("log", &["kernel"]),
    ("log-sqlite", &["kernel", "log"]),
    ("log-postgres", &["kernel", "log", "outward"]),
    ("journal", &[]),
    // Each node stores the log in a file of that store, and the journal orders it.
    ("log-cluster", &["kernel", "log", "log-sqlite", "journal"]),
    ("retrieval", &["kernel"]),
    // Its tables are in the log's database, over the same connections.
    ("retrieval-postgres", &["kernel", "log", "log-postgres", "retrieval"]),
    ("retrieval-sqlite", &["kernel", "retrieval"]),
    ("embeddings", &["outward"]),
    ("retrieval-vectors", &["kernel", "retrieval", "embeddings"]),
    ("engine", &["kernel", "log"]),
    ("hub", &["kernel", "log"]),
    // From the log into its search index.
    ("indexing", &["kernel", "log", "hub", "retrieval"]),
    ("outward", &[]),
    ("a2a-schema", &[]),
    ("blobs", &["outward"]),
    ("telemetry", &["kernel", "outward"]),
    ("edge", &["kernel", "telemetry"]),
    ("room", &["kernel", "log", "retrieval", "engine", "hub", "edge"]),
    ("accounts", &["kernel", "log", "engine", "hub", "telemetry", "edge", "room"]),
    ("client", &["kernel", "outward"]),
    // The commands are clients; a host runs programs, and a server that is down is replaced by its fixed answers.
    ("command-line", &["kernel", "client", "hosts", "mcp", "runs"]),
    // Between a room and the programs that it runs: each kind of agent is a file here.
    ("hosts", &["kernel", "log", "hub", "edge", "room", "accounts", "outward", "runs", "a2a-schema"]),
    // It calls the rooms through the router, like every client; the engine has the clock, and the retrieval the words
    // of a query.
    ("mcp", &["kernel", "engine", "telemetry", "edge", "accounts", "outward", "retrieval"]),
    // For clients of other protocols; it calls the rooms through the router too. The crate for
    // notifications also sends, signs and repeats its push messages to clients.
    (
        "a2a",
        &[
            "kernel",
            "log",
            "engine",
            "hub",
            "telemetry",
            "edge",
            "room",
            "accounts",
            "outward",
            "notify",
            "a2a-schema",
        ],
    ),
    // The unread items of an agent, from every room.
    ("inbox", &["kernel", "log", "hub", "edge", "room", "accounts", "sessions", "frames"]),
    // The full-text search; the rooms decide who may read what.
    ("search", &["kernel", "log", "retrieval", "hub", "indexing", "edge", "room", "accounts"]),
    // External issuers of identities; the accounts decide their meaning here.
    ("issuers", &["kernel", "accounts", "outward"]),
    // The user interface for people; the rooms describe their events.
    ("console", &["kernel", "log", "retrieval", "engine", "hub", "edge", "room", "accounts", "issuers"]),
    // A person lets a client act as an agent; the accounts decide the meaning.
    ("oauth", &["kernel", "log", "edge", "room", "accounts", "issuers", "outward"]),
    // Between this network and those of other operators.
    (
        "links",
        &["kernel", "log", "engine", "hub", "edge", "room", "accounts", "sessions", "frames", "outward"],
    ),
    // Between two rooms: agents that the server runs take part in sessions.
    ("participation", &["kernel", "log", "engine", "hub", "edge", "room", "accounts", "sessions", "runs"]),
    // Between the rooms and people: requests that wait for a person.
    (
        "sources",
        &[
            "kernel", "log", "engine", "hub", "edge", "room", "accounts", "sessions", "context", "runs",
            "requests",
        ],
    ),
    // Notifications on people's devices about requests that wait for them.
    ("notify", &["kernel", "log", "engine", "hub", "edge", "room", "accounts", "outward", "requests"]),
    // It checks the server against the documents, so it must not share the server's code.
    ("blackbox", &[]),
    // It measures the real binary from outside, and its baselines must not use the server's code.
    ("bench", &[]),
];

/// Additional dependencies that a crate may have in its tests.
const IN_TESTS: &[(&str, &[&str])] = &[
    // Tools are tested with the rooms that answer them.
    (
        "mcp",
        &[
            "log",
            "hub",
            "blobs",
            "telemetry",
            "room",
            "sessions",
            "frames",
            "channels",
            "context",
            "runs",
            "inbox",
            "search",
        ],
    ),
    // An inbox is tested with rooms that have news.
    ("inbox", &["engine", "telemetry", "context", "runs", "requests"]),
];

/// Foreign crates that only a few crates may use: those crates, and the reason.
const CONFINED: &[(&str, &[&str], &str)] = &[
    (
        "rusqlite",
        &["log-sqlite", "retrieval-sqlite", "bench", "blackbox", "xtask"],
        "only a backend opens a database",
    ),
    (
        "tokio-postgres",
        &["log-postgres", "retrieval-postgres", "bench", "blackbox", "xtask"],
        "only a backend opens a database",
    ),
    ("async-nats", &["journal"], "only one crate speaks to NATS"),
    ("jsonwebtoken", &["issuers"], "only one crate verifies tokens of others"),
    ("safetensors", &["embeddings"], "only one crate runs models"),
    ("a2a", &["a2a"], "only one crate speaks Agent2Agent"),
    ("rmcp", &["mcp"], "only one crate speaks the Model Context Protocol"),
    ("object_store", &["blobs"], "only the blobs know where contents are kept"),
    ("anyhow", PROGRAMS, "libraries have error types; an `anyhow` hides what can go wrong"),
    ("clap", PROGRAMS, "only programs have a command line"),
    ("tracing-subscriber", PROGRAMS, "only the binary decides where logs go"),
];

/// Foreign crates that a room must not use, and the reason.
const REFUSED: &[(&str, &[&str], &str)] = &[
    ("kernel", &["tokio", "futures-util", "getrandom", "axum", "hyper", "http"], "the kernel is pure"),
    ("log", &["serde_json", "axum", "hyper", "http"], "the log knows bytes, not protocols"),
    ("retrieval", &["serde_json", "axum", "hyper", "http"], "retrieval knows documents, not protocols"),
    ("engine", &["axum", "hyper", "http"], "the engine does not know how a command arrived"),
    ("hub", &["axum", "hyper", "http", "tokio-tungstenite"], "the hub does not know what a reader writes to"),
];

/// One dependency of a manifest.
struct Dependency {
    name: String,
    development: bool,
}

/// Checks every manifest below `crates/`, `tests/` and `xtask/`.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let manifest: Table =
            file.text.parse().with_context(|| format!("{} is not a manifest", file.path))?;
        let Some(package) = manifest.get("package").and_then(|package| package.get("name")?.as_str()) else {
            continue;
        };
        let room = room(package).unwrap_or(package);
        findings
            .extend(dependencies(&manifest).iter().filter_map(|dependency| refusal(file, room, dependency)));
        if allowed(room).is_none() {
            findings.push(Finding::error(
                &file.path,
                format!("`{room}` is not on the map: give it its arrows in xtask/src/tidy/arrows.rs"),
            ));
        }
    }
    Ok(findings)
}

/// The room of a package: `log` of `plenary-log`; foreign packages have none.
fn room(package: &str) -> Option<&str> {
    if package == "plenary" { Some(package) } else { package.strip_prefix("plenary-") }
}

/// The allowed dependencies of a room; `None` for an unknown room.
fn allowed(room: &str) -> Option<&'static [&'static str]> {
    if PROTOCOLS.contains(&room) {
        return Some(BELOW_PROTOCOLS);
    }
    if WHOLE.contains(&room) {
        return Some(&[]);
    }
    ARROWS.iter().find(|(name, _)| *name == room).map(|(_, below)| *below)
}

fn refusal(file: &File, room: &str, dependency: &Dependency) -> Option<Finding> {
    let name = dependency.name.as_str();
    let finding =
        |why: &str| Some(Finding::error(&file.path, format!("`{room}` may not depend on `{name}`: {why}")));
    if let Some(other) = self::room(name) {
        // A crate may test itself with its own feature, and every crate may test on a real backend.
        let may_test_on = |other: &str| {
            let named = IN_TESTS.iter().find(|(name, _)| *name == room);
            BACKENDS.contains(&other) || named.is_some_and(|(_, rooms)| rooms.contains(&other))
        };
        let in_tests = dependency.development && (other == room || may_test_on(other));
        if WHOLE.contains(&room) || in_tests || allowed(room)?.contains(&other) {
            return None;
        }
        if PROTOCOLS.contains(&room) && PROTOCOLS.contains(&other) {
            return finding("protocol rooms do not know each other; what two share moves down");
        }
        if BACKENDS.contains(&other) {
            return finding("only the binary names a concrete backend");
        }
        return finding("arrows run one way (ARCHITECTURE.md)");
    }
    if dependency.development {
        return None;
    }
    let confined = CONFINED.iter().find(|(crate_, friends, _)| *crate_ == name && !friends.contains(&room));
    let refused = REFUSED.iter().find(|(refusing, crates, _)| *refusing == room && crates.contains(&name));
    confined.or(refused).and_then(|(_, _, why)| finding(why))
}

/// All dependencies of a manifest, also those of each target, by the package's own name.
fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let scopes = std::iter::once(manifest)
        .chain(targets.into_iter().flat_map(|t| t.values().filter_map(Value::as_table)));
    let mut found = Vec::new();
    for scope in scopes {
        for (section, development) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let Some(entries) = scope.get(section).and_then(Value::as_table) else { continue };
            found.extend(entries.iter().map(|(key, entry)| {
                let renamed = entry.get("package").and_then(Value::as_str);
                Dependency { name: renamed.unwrap_or(key).to_owned(), development }
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(package: &str, dependencies: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{package}\"\n{dependencies}");
        let tree = Tree::of(&[("crates/x/Cargo.toml", &text)]);
        check(&tree).unwrap().into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn arrows_run_one_way() {
        assert!(findings("plenary-log", "[dependencies]\nplenary-kernel.workspace = true").is_empty());
        assert!(
            findings("plenary-kernel", "[dependencies]\nplenary-log.workspace = true")[0].contains("one way")
        );
        assert!(
            findings("plenary-edge", "[dependencies]\nplenary-log.workspace = true")[0].contains("one way")
        );
        assert_eq!(
            findings("plenary-client", "[build-dependencies]\nplenary-edge.workspace = true").len(),
            1
        );
        assert_eq!(
            findings("plenary-kernel", "[dev-dependencies]\nplenary-engine.workspace = true").len(),
            1
        );
    }

    #[test]
    fn protocol_rooms_do_not_know_each_other() {
        assert!(
            findings("plenary-frames", "[dependencies]\nplenary-sessions.workspace = true")[0]
                .contains("share")
        );
    }

    #[test]
    fn only_the_binary_and_tests_name_a_backend() {
        let count_in = |section: &str, package: &str| {
            findings(package, &format!("[{section}]\nplenary-log-sqlite = {{ workspace = true }}")).len()
        };
        assert_eq!(count_in("dependencies", "plenary-sessions"), 1);
        assert_eq!(count_in("dependencies", "plenary"), 0);
        assert_eq!(count_in("dependencies", "xtask"), 0);
        assert_eq!(count_in("dev-dependencies", "plenary-sessions"), 0);
        assert_eq!(count_in("dev-dependencies", "plenary-log-sqlite"), 0);
    }

    #[test]
    fn only_a_backend_opens_a_database() {
        assert!(findings("plenary-hub", "[dependencies]\nrusqlite = \"0\"")[0].contains("database"));
        let renamed = "[target.'cfg(unix)'.dependencies]\npg = { package = \"tokio-postgres\" }";
        assert!(findings("plenary-hub", renamed)[0].contains("database"));
        assert!(findings("plenary-log-sqlite", "[dependencies]\nrusqlite = \"0\"").is_empty());
    }

    #[test]
    fn black_box_tests_know_no_crate_of_the_server() {
        assert_eq!(findings("blackbox", "[dependencies]\nplenary-kernel.workspace = true").len(), 1);
        assert_eq!(findings("blackbox", "[dev-dependencies]\nplenary-client.workspace = true").len(), 1);
        assert!(findings("blackbox", "[dependencies]\ntokio-postgres.workspace = true").is_empty());
    }

    #[test]
    fn bare_limits_know_no_crate_of_the_server() {
        assert_eq!(findings("plenary-bench", "[dependencies]\nplenary-log-sqlite.workspace = true").len(), 1);
        assert!(findings("plenary-bench", "[dependencies]\nrusqlite.workspace = true").is_empty());
    }

    #[test]
    fn the_kernel_is_pure() {
        assert!(findings("plenary-kernel", "[dependencies]\ntokio.workspace = true")[0].contains("pure"));
    }

    #[test]
    fn a_room_that_is_not_on_the_map_is_refused() {
        assert!(findings("plenary-attic", "")[0].contains("not on the map"));
    }
}
