//! A name that stays the same in one terminal or coding session, and differs in another.
//! Must not know: the use of the name.

use super::environment::Environment;

/// Longest name made here; leaves room for a question's suffix within the 128 bytes of a frame's session.
const SESSION_CHARS_MAX: usize = 100;

/// Variables that distinguish terminals, most specific first; a terminal sets them for every program in it.
const TERMINAL_VARS: [&str; 2] = ["TERM_SESSION_ID", "WT_SESSION"];

/// Host and terminal; without a terminal, the first process of the login session.
pub(crate) fn session_id(environment: &Environment) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = host.split('.').next().unwrap_or_default();
    let terminal =
        TERMINAL_VARS.iter().find_map(|name| environment.var(name)).or_else(|| tmux_pane(environment));
    let session = terminal.unwrap_or_else(|| login_session().to_string());
    plain(&format!("{host}.{session}"))
}

/// A pane of tmux with the process of its server: each server counts its panes from zero. `TMUX` is
/// `SOCKET,PID,SESSION`.
fn tmux_pane(environment: &Environment) -> Option<String> {
    let pane = environment.var("TMUX_PANE")?;
    let tmux = environment.var("TMUX").unwrap_or_default();
    let server = tmux.rsplit(',').nth(1).unwrap_or_default();
    Some(format!("tmux{server}.{pane}"))
}

/// The first process of the login session, 0 if it is outside this container; on a system without `/proc`, the
/// parent process.
///
/// Not read with `rustix::process::getsid`, which does not accept 0.
fn login_session() -> u32 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    session_of(&stat).unwrap_or_else(std::os::unix::process::parent_id)
}

/// The session in a line of `/proc/PID/stat`: the fourth field after the name, which may contain blanks and parentheses.
fn session_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(3)?.parse().ok()
}

/// Keeps letters, digits, `.`, `_` and `-`; replaces every other character by a hyphen.
fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.chars().take(SESSION_CHARS_MAX).map(|c| if allowed(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_the_same_in_one_terminal_and_fits_a_scope() {
        let environment = |vars: &[(&str, &str)]| Environment::of_test(std::path::Path::new("/"), vars);
        let tab = environment(&[("TERM_SESSION_ID", "w0t1/p0*@")]);
        assert_eq!(session_id(&tab), session_id(&tab));
        assert!(session_id(&tab).ends_with(".w0t1-p0--"), "{}", session_id(&tab));
        assert_ne!(session_id(&tab), session_id(&environment(&[("TMUX_PANE", "%3")])));
        let pane = |tmux| session_id(&environment(&[("TMUX_PANE", "%3"), ("TMUX", tmux)]));
        assert_eq!(pane("/tmp/tmux-0/default,311,0"), pane("/tmp/tmux-0/default,311,1"));
        assert_ne!(pane("/tmp/tmux-0/default,311,0"), pane("/tmp/tmux-0/other,977,0"));
        let bare = session_id(&environment(&[]));
        assert_eq!(bare, session_id(&environment(&[])));
        assert!(!bare.contains(['/', '*', '@']) && !bare.is_empty());
        assert!(plain(&"ü".repeat(500)).len() <= SESSION_CHARS_MAX);
    }

    #[test]
    fn a_session_led_from_outside_of_the_container_is_a_session_too() {
        assert_eq!(session_of("27904 (a b) c) S 27900 27904 0 0 -1 4194304"), Some(0));
        assert_eq!(session_of("27904 (plenary) S 27900 27904 311 0"), Some(311));
        assert_eq!(session_of(""), None);
    }
}
