//! Arguments and variables that no command can take: each is refused, never passed over.

use blackbox::{Cli, CommandOutput};

use super::words::json_of;

/// Runs a line of a shell in which `plenary` is the program.
async fn line(line: &str) -> CommandOutput {
    let cli = Cli::new(&[("PLENARY", &blackbox::binary().display().to_string())]);
    cli.shell(&cli.dir(), &line.replace("plenary ", "\"$PLENARY\" "), "").await
}

#[tokio::test]
async fn an_argument_that_is_not_utf_8_is_wrong_usage() {
    for arguments in [
        "send @nick.b \"$(printf '\\377')\"",
        "\"$(printf '\\377')\"",
        "connect \"$(printf '\\377')\"",
        "mcp --toolsets \"$(printf '\\377')\"",
        "serve --data \"$(printf '\\377x')\" --nope",
    ] {
        let ran = line(&format!("plenary {arguments}")).await;
        assert!(ran.code == 2 && !ran.err.contains("panicked"), "{arguments}: {ran:?}");
        let ran = line(&format!("plenary --json {arguments}")).await;
        assert!(ran.code == 2 && json_of(&ran.err).is_object(), "{arguments}: {ran:?}");
    }
}

#[tokio::test]
async fn a_variable_that_is_not_utf_8_is_not_taken_for_an_unset_one() {
    for name in ["PLENARY_AS", "PLENARY_TOKEN", "PLENARY_URL"] {
        let ran = line(&format!("{name}=\"$(printf '@nick.al\\377')\" plenary who")).await;
        assert!(ran.code == 2 && ran.err.contains(&format!("{name} is not UTF-8")), "{ran:?}");
    }
}

#[tokio::test]
async fn an_empty_token_is_not_taken_for_a_missing_one() {
    for flag in ["--token ''", "--token="] {
        let ran = line(&format!("plenary {flag} who")).await;
        assert!(ran.code == 2 && ran.err.contains("--token is empty"), "{flag}: {ran:?}");
    }
}

#[tokio::test]
async fn help_and_errors_of_usage_have_no_colors_where_none_are_wanted() {
    for arguments in ["--help", "send --help", "bogus"] {
        let text = |ran: CommandOutput| ran.out + &ran.err;
        let plain = text(line(&format!("CLICOLOR_FORCE=1 plenary --no-color {arguments}")).await);
        assert!(!plain.is_empty() && !plain.contains('\u{1b}'), "{arguments}: {plain:?}");
        let colored = text(line(&format!("CLICOLOR_FORCE=1 plenary {arguments}")).await);
        assert!(colored.contains('\u{1b}'), "{arguments}: {colored:?}");
    }
}

#[tokio::test]
async fn completions_for_fish_offer_the_values_of_arguments() {
    let script = line("plenary completions fish").await.out;
    let offered = |place: &str, value: &str| {
        let head = format!("complete -c plenary -n \"__fish_plenary_using_subcommand {place}\" -f -a \"");
        let values = script.lines().filter_map(|line| line.strip_prefix(&head));
        values.flat_map(|values| values.trim_end_matches('"').split(' ')).any(|offered| offered == value)
    };
    for (place, value) in [
        ("attention", "focus"),
        ("connect", "claude"),
        ("agent; and __fish_seen_subcommand_from hold-runs", "on"),
    ] {
        assert!(offered(place, value), "{place} {value}: {script}");
    }
}
