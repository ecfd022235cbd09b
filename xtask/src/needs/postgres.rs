//! A private PostgreSQL cluster: in a temporary directory, on a free port, flushing to disk as in production.
//! Must not know: what the tests do with it.

use std::{
    io::Write,
    os::unix::{
        fs::{DirBuilderExt, OpenOptionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::{Running, apt, guard::Guard, ports};
use crate::{console, process};

/// The variable with its address for tests. If it is already set, that server is used and none is
/// started.
pub(super) const VARIABLE: &str = "PLENARY_TEST_POSTGRES";

/// The variable with the CA of its certificate for `localhost`, a PEM file.
pub(super) const AUTHORITY: &str = "PLENARY_TEST_POSTGRES_CA";

/// The directory of Debian's server programs, with a subdirectory per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The superuser of the cluster.
const SUPERUSER: &str = "plenary";

/// Most attempts to start, as another process may take the free port first.
const PORT_ATTEMPTS: usize = 5;

/// The time limit of the start, in seconds.
const START_SECONDS_MAX: &str = "60";

/// Installs the server if it is missing.
pub(super) fn ensure() -> Result<()> {
    if given().is_some() || programs().is_some() {
        return Ok(());
    }
    console::print_line("    PostgreSQL is absent: installing it");
    apt::install(&["postgresql"]).with_context(|| {
        format!("PostgreSQL is needed: put initdb and pg_ctl on the PATH, or name a server in {VARIABLE}")
    })?;
    programs()
        .map(drop)
        .context("PostgreSQL was installed, but initdb and pg_ctl are not where Debian puts them")
}

/// Starts a fresh cluster.
pub(super) fn start() -> Result<Running> {
    if let Some(url) = given() {
        console::print_line(&format!("    {VARIABLE} is set: using that server"));
        return Ok(Running { variable: VARIABLE, url, more: Vec::new(), _guard: None });
    }
    let programs = programs().context("initdb and pg_ctl are absent")?;
    let account = Account::for_server()?;
    let directory = private_directory(account.as_ref())?;
    let data = directory.join("data");
    let (directory_text, data_text) = (utf8(&directory)?, utf8(&data)?);
    let run_as = |command: &mut Command| {
        // The server refuses to run as root, and can't enter every directory that root may be in.
        command.current_dir(&directory);
        if let Some(account) = &account {
            command.uid(account.user).gid(account.group);
        }
    };
    let pg_ctl = programs.join("pg_ctl");
    // The tests may run as a user who can't enter the server's directory.
    let authority = std::env::temp_dir().join(format!("plenary-postgres-ca-{}.pem", std::process::id()));
    let guard = Guard::set(
        "\"$1\" stop -D \"$2\" -m immediate -w; rm -rf \"$3\" \"$4\"",
        &[utf8(&pg_ctl)?, data_text, directory_text, utf8(&authority)?],
        run_as,
    )?;
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args(["-D", data_text, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
    run_as(&mut initdb);
    process::output(&mut initdb)?;
    configure(&data, &directory)?;
    std::fs::write(&authority, certify(&data, account.as_ref())?)?;
    let mut attempt = 1;
    loop {
        let port = ports::free()?;
        let log = directory.join(format!("{attempt}.log"));
        let mut start = Command::new(&pg_ctl);
        start.args(["start", "-D", data_text, "-w", "-t", START_SECONDS_MAX, "-l", utf8(&log)?]);
        start.args(["-o", &format!("-p {port}")]).process_group(0);
        run_as(&mut start);
        match process::output(&mut start) {
            Ok(_) => {
                let url = format!("postgres://{SUPERUSER}@127.0.0.1:{port}/postgres");
                let more = vec![(AUTHORITY, utf8(&authority)?.to_owned())];
                return Ok(Running { variable: VARIABLE, url, more, _guard: Some(guard) });
            }
            Err(error) if attempt == PORT_ATTEMPTS => {
                let log_text = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(error.context(format!("PostgreSQL did not start; it said:\n{log_text}")));
            }
            Err(_) => attempt += 1,
        }
    }
}

/// A server that the caller started.
fn given() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|url| !url.is_empty())
}

/// The directory of `initdb` and `pg_ctl`: Debian's newest, else from the PATH.
fn programs() -> Option<PathBuf> {
    let complete =
        |directory: &PathBuf| directory.join("initdb").is_file() && directory.join("pg_ctl").is_file();
    let version = |directory: &PathBuf| -> u32 {
        let name = directory.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    let debian =
        std::fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    debian.filter(complete).max_by_key(version).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(complete)
    })
}

/// An unprivileged account for the server.
struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// `None` unless the user is root; root uses the server's own account, or `nobody`.
    fn for_server() -> Result<Option<Self>> {
        if user_id(None)? != 0 {
            return Ok(None);
        }
        for name in ["postgres", "nobody"] {
            if let (Ok(user), Ok(group)) = (user_id(Some(name)), id("-g", Some(name))) {
                return Ok(Some(Self { user, group }));
            }
        }
        bail!("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody")
    }
}

/// The id of a user; of the current one if none is named.
pub(super) fn user_id(name: Option<&str>) -> Result<u32> {
    id("-u", name)
}

fn id(what: &str, name: Option<&str>) -> Result<u32> {
    let printed = process::output(Command::new("id").arg(what).args(name))?;
    printed.trim().parse().context("`id` did not print a number")
}

/// A directory that only the server's account can enter, in a place that it can reach.
fn private_directory(account: Option<&Account>) -> Result<PathBuf> {
    let candidates = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    for (number, base) in candidates.iter().enumerate() {
        let directory = base.join(format!("plenary-postgres-{}-{number}", std::process::id()));
        // A leftover of an earlier process with this id; it is not ours to remove.
        if std::fs::DirBuilder::new().mode(0o700).create(&directory).is_err() {
            continue;
        }
        let Some(account) = account else { return Ok(directory) };
        chown(&directory, Some(account.user), Some(account.group))
            .with_context(|| format!("could not give {} away", directory.display()))?;
        let mut probe = Command::new("/bin/sh");
        probe.args(["-c", "cd \"$1\"", "probe", utf8(&directory)?]).uid(account.user).gid(account.group);
        if process::succeeds(probe.current_dir("/")) {
            return Ok(directory);
        }
        std::fs::remove_dir(&directory)
            .with_context(|| format!("could not remove {}", directory.display()))?;
    }
    bail!("found no temporary directory that PostgreSQL can enter; set TMPDIR to one")
}

/// Flushes as in production, sockets in the private directory, enough connections for concurrent tests.
fn configure(data: &Path, directory: &Path) -> Result<()> {
    let settings = format!(
        "listen_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nfsync = on\nsynchronous_commit = on\n\
         full_page_writes = on\nssl = on\nmax_connections = 300\nlog_line_prefix = '%m [%p] %d '\n",
        utf8(directory)?.replace('\'', "''")
    );
    let path = data.join("postgresql.conf");
    let mut file =
        std::fs::OpenOptions::new().append(true).open(&path).context("initdb left no postgresql.conf")?;
    file.write_all(settings.as_bytes()).with_context(|| format!("could not write {}", path.display()))
}

/// Enables TLS with a private CA; returns the CA's certificate.
fn certify(data: &Path, account: Option<&Account>) -> Result<String> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &authority)?;
    let files = [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())];
    for (name, text) in files {
        let path = data.join(name);
        let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        if let Some(account) = account {
            chown(&path, Some(account.user), Some(account.group))?;
        }
    }
    Ok(authority.pem())
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
