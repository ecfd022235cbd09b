//! The configuration file: the named one, otherwise the user's own. Never a file that is merely in the working
//! directory: a stranger may have written it, and it names programs to run.
//! Must not know: the content of the file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::super::privacy;
use crate::paths::{self, Lookup};

/// The file's name.
const FILE: &str = "plenary.toml";

/// A configuration file that was read.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Its text.
    pub(super) text: String,
    /// Its absolute path; `None` if there is no file.
    pub(super) path: Option<PathBuf>,
}

impl Source {
    /// Reads the named file, which must exist, or else the user's own if it exists.
    pub(super) fn read(named: Option<&Path>, var: Lookup<'_>) -> anyhow::Result<Self> {
        let own = || paths::config_dir(var).map(|directory| directory.join(FILE));
        let Some(path) = named.map(Path::to_owned).or_else(own) else { return Ok(Self::default()) };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let path =
                    std::path::absolute(&path).with_context(|| format!("finding {}", path.display()))?;
                let source = Self { text, path: Some(path) };
                source.check_permissions()?;
                Ok(source)
            }
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    /// The error of a parser, with its line up to the value: the value may be a secret, and errors end up in logs.
    pub(super) fn refused(&self, error: &toml::de::Error) -> anyhow::Error {
        let name = self.path.as_deref().unwrap_or(Path::new(FILE)).display();
        let error_start = error.span().map_or(0, |span| self.text.floor_char_boundary(span.start));
        let (before, after) = self.text.split_at(error_start);
        let number = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = after.find('\n').map_or(self.text.len(), |newline| error_start + newline);
        let line = self.text[start..end].trim();
        let shown = line.split_once('=').map_or(line.to_owned(), |(key, _)| format!("{} = …", key.trim()));
        anyhow::anyhow!("{name}, line {number}, `{shown}`: {}", plain(error.message()))
    }

    /// Refuses a file in which other users can name programs that the server runs, and reports one in which they can read
    /// a secret.
    fn check_permissions(&self) -> anyhow::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        privacy::refuse_writable_by_others(path)?;
        if holds_secret(&self.text) && privacy::is_readable_by_others(path) {
            tracing::warn!(
                file = %path.display(), "other users can read the passwords or keys in the configuration file; run: chmod 600"
            );
        }
        Ok(())
    }

    /// A path of the file, which is relative to the file's directory.
    pub(super) fn resolve(&self, path: PathBuf) -> PathBuf {
        match self.path.as_deref().and_then(Path::parent) {
            Some(directory) => directory.join(path),
            None => path,
        }
    }

    /// A notice that a file in a directory looks like a configuration but is not read.
    pub(super) fn ignored_in(&self, directory: &Path) -> Option<String> {
        let there = directory.join(FILE);
        let real = |path: &Path| path.canonicalize().ok();
        if !there.is_file() || self.path.as_deref().is_some_and(|own| real(own) == real(&there)) {
            return None;
        }
        Some(format!("./{FILE} is not read: only a file named with `--config {FILE}` or PLENARY_CONFIG is"))
    }
}

/// A parser's message in plain words. A value that it quotes is left out.
fn plain(message: &str) -> String {
    // What the parser says where a value has one of several names.
    if message == "wanted string or table" {
        return "the value must be text in quotes".to_owned();
    }
    let wrong_type = ["invalid type: ", "invalid value: "].iter().any(|start| message.starts_with(start));
    if let Some((_, expected)) = message.rsplit_once(", expected ").filter(|_| wrong_type) {
        let expected = match expected {
            "u8" => "a whole number from 0 to 255",
            "u16" => "a whole number from 0 to 65535",
            "u32" => "a whole number from 0 to 4294967295",
            "u64" | "usize" => "a whole number from 0",
            "a boolean" => "true or false",
            "a string" | "path string" => "text in quotes",
            "a sequence" => "a list, such as [\"…\"]",
            table if table == "a map" || table.starts_with("struct ") => "a table",
            other => other,
        };
        return format!("the value must be {expected}");
    }
    let expected = |text: &str| text.trim_start_matches("one of ").to_owned();
    let known = message.split_once(", expected ");
    if let Some((_, known)) = known.filter(|_| message.starts_with("unknown variant ")) {
        return format!("the value must be {}", expected(known));
    }
    if let Some(rest) = message.strip_prefix("unknown field ")
        && let Some((name, known)) = rest.split_once(", expected ")
    {
        return format!("there is no setting {name} here, only {}", expected(known));
    }
    match message.strip_prefix("missing field ") {
        Some(name) => format!("{name} is missing"),
        None => message.to_owned(),
    }
}

/// Whether a URL in the file has a password, or an agent a key.
fn holds_secret(text: &str) -> bool {
    let has_password = |line: &str| {
        let authority =
            line.split_once("://").map(|(_, authority)| authority.split('/').next().unwrap_or_default());
        authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
    };
    let is_key = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == "key");
    text.lines().any(|line| has_password(line) || is_key(line))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_error_names_the_line_and_not_the_value() {
        for (text, expected) in [
            ("grace = \"5s\"\nsmtp_ur = \"smtp://u:geheim@h\"\n", "line 2, `smtp_ur = …`"),
            ("database = \"postgres://u:geheim@h/db\n", "line 1, `database = …`"),
            ("[notify]\nsmtp_url = \"smtp://u:geheim@h\" geheim\n", "line 2, `smtp_url = …`"),
            ("[issuers.x]\nclient_secret = \"geheim\"", "line 2, `client_secret = …`"),
        ] {
            let source = Source { text: text.to_owned(), path: Some("/etc/plenary.toml".into()) };
            let error = toml::from_str::<super::super::File>(text).unwrap_err();
            let text = source.refused(&error).to_string();
            assert!(text.starts_with(&format!("/etc/plenary.toml, {expected}: ")), "{text}");
            assert!(!text.contains("geheim"), "{text}");
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(FILE);
        std::fs::write(&file, "grace = \"5s\"").unwrap();
        for (mode, is_read) in [(0o644, true), (0o600, true), (0o666, false), (0o602, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Source::read(Some(&file), &|_| None).is_ok(), is_read, "{mode:o}");
        }
    }

    #[test]
    fn secrets_are_passwords_in_urls_and_keys_of_agents() {
        for text in
            ["database = \"postgres://u:p@h/d\"", "[agents.a]\nkey = \"sk\"", "smtp_url = \"smtps://m:p@h\""]
        {
            assert!(holds_secret(text), "{text}");
        }
        for text in [
            "",
            "database = \"postgres://u@h/d\"",
            "public_url = \"https://a.example:7420/a@b:c\"",
            "key_file = 1",
        ] {
            assert!(!holds_secret(text), "{text}");
        }
    }

    #[test]
    fn the_named_file_wins_over_the_users_own_and_what_lies_about_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let (config, here) = (root.path().join("config"), root.path().join("here"));
        std::fs::create_dir_all(config.join("plenary")).unwrap();
        std::fs::create_dir_all(&here).unwrap();
        std::fs::write(here.join(FILE), "here").unwrap();
        let var = |name: &str| (name == "XDG_CONFIG_HOME").then(|| config.display().to_string());
        let none = Source::read(None, &var).unwrap();
        assert_eq!((none.text.as_str(), none.path.as_deref()), ("", None));
        assert!(none.ignored_in(&here).is_some_and(|hint| hint.contains("--config")));
        assert!(none.ignored_in(root.path()).is_none());

        let own = config.join("plenary").join(FILE);
        std::fs::write(&own, "own").unwrap();
        let read = Source::read(None, &var).unwrap();
        assert_eq!((read.text.as_str(), read.path.as_deref()), ("own", Some(own.as_path())));
        assert!(read.ignored_in(&config.join("plenary")).is_none(), "it is the one that is read");
        assert_eq!(read.resolve("seed.json".into()), config.join("plenary/seed.json"));
        assert_eq!(read.resolve("/seed.json".into()), Path::new("/seed.json"));

        let named = Source::read(Some(&here.join(FILE)), &var).unwrap();
        assert_eq!(named.text, "here");
        assert!(named.ignored_in(&here).is_none());
        assert!(Source::read(Some(&here.join("absent")), &var).is_err());
    }
}
