//! The stage of the README: runs its code blocks and those of the guides from top to bottom, in a fresh
//! home for each page.
//! Must not know: the code blocks.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::fresh;
use crate::console;

/// The pages; each works without the others.
const PAGES: &[&str] = &[
    "README.md",
    "docs/accounts.md",
    "docs/channels.md",
    "docs/connect-a2a.md",
    "docs/connect-acp.md",
    "docs/connect-agentic.md",
    "docs/connect-langgraph.md",
    "docs/connect-oauth.md",
    "docs/connect-openai.md",
    "docs/context.md",
    "docs/frames.md",
    "docs/networks.md",
    "docs/requests.md",
    "docs/runs.md",
    "docs/sessions.md",
];
/// The command behind "With the server running", which a page may assume.
const SERVER: &str =
    "plenary serve 2> serve.log & until [ -s ~/.local/share/plenary/server-url ]; do sleep 0.1; done";

/// Runs every page.
pub(super) fn run(root: &Path, binary: &Path) -> Result<()> {
    let network = fresh::network();
    if !network {
        console::print_line(
            "    no network of its own can be had: ports 7420 to 7422 and 7443 of this machine must be free",
        );
    }
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("{page} is absent"))?;
        fresh::run(page, &script(page, &text), Some(binary), network, &[])
            .with_context(|| format!("{page} does not paste"))?;
        console::print_line(&format!("    {page}: pasted"));
    }
    Ok(())
}

/// The page as one script, which prints its progress.
fn script(page: &str, text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    if text.contains("With the server running") {
        lines.push(SERVER.into());
    }
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        match line {
            "```sh" => {
                inside = true;
                lines.push(format!("echo '==> {page}:{}'", number + 1));
            }
            "```" => inside = false,
            _ if inside => lines.push(pasted(line)),
            _ => {}
        }
    }
    lines.join("\n") + "\n"
}

/// The line as it runs here: with the built binary, and without commands that never end.
fn pasted(line: &str) -> String {
    let command = line.split(" #").next().unwrap_or(line).trim_end();
    match command {
        // The binary exists already.
        "cargo install --locked --path crates/plenary" => ":".into(),
        "plenary serve" => SERVER.into(),
        _ if command.ends_with("plenary listen") || command.ends_with("frame listen") => {
            format!("{command} &")
        }
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_the_shell_alone_are_pasted_with_the_binary_that_was_built() {
        let page = "With the server running:\n```sh\ncargo install --locked --path crates/plenary\nplenary listen   # leave it\n```\n\
                    ```toml\na = 1\n```\n";
        let expected = format!("{SERVER}\necho '==> x.md:2'\n:\nplenary listen &\n");
        assert_eq!(script("x.md", page), expected);
    }
}
