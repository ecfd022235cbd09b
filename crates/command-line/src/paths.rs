//! The directories of this program on this machine, by the XDG rules: relative values of its variables count as
//! unset.
//! Must not know: the content of the files.

use std::path::PathBuf;

/// The file in the server's data directory that holds the operator's token (wire.md D.1).
pub const OPERATOR_TOKEN_FILE: &str = "operator-token";

/// The file in the server's data directory with its URL for this machine, while the server runs.
pub const SERVER_URL_FILE: &str = "server-url";

/// Looks up an environment variable; tests pass their own function.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

fn below(var: Lookup<'_>, xdg: &str, home: &str) -> Option<PathBuf> {
    let absolute = |text: String| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let base = var(xdg).and_then(absolute).or_else(|| Some(var("HOME").and_then(absolute)?.join(home)))?;
    Some(base.join("plenary"))
}

/// The user's configuration: `$XDG_CONFIG_HOME/plenary`, else `~/.config/plenary`; none without a home.
pub fn config_dir(var: Lookup<'_>) -> Option<PathBuf> {
    below(var, "XDG_CONFIG_HOME", ".config")
}

/// The server's default data directory: `$XDG_DATA_HOME/plenary`, else `~/.local/share/plenary`.
pub fn default_data_dir(var: Lookup<'_>) -> Option<PathBuf> {
    below(var, "XDG_DATA_HOME", ".local/share")
}

/// The directory for files that can be lost without harm: `$XDG_STATE_HOME/plenary`, else `~/.local/state/plenary`.
pub fn state_dir(var: Lookup<'_>) -> Option<PathBuf> {
    below(var, "XDG_STATE_HOME", ".local/state")
}

/// The data directory of this machine's server: `PLENARY_DATA`, else the default; `None` for a server in memory.
pub fn data_dir(var: Lookup<'_>) -> Option<PathBuf> {
    match var("PLENARY_DATA") {
        Some(text) if text == ":memory:" => None,
        Some(text) => Some(PathBuf::from(text)),
        None => default_data_dir(var),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xdg_variables_win_when_absolute() {
        let vars = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let all = vars(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(config_dir(&all), Some("/c/plenary".into()));
        assert_eq!(default_data_dir(&all), Some("/h/.local/share/plenary".into()));
        assert_eq!(config_dir(&vars(&[])), None);
    }
}
