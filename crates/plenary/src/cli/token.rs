//! `plenary token`: the tokens saved on this machine.
//! Must not know: the server; nothing is asked of it.

use std::io::{BufRead, IsTerminal, Read};

use clap::{Args, Subcommand};
use plenary_client::Token;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use super::{context::Context, failure::Failure, identity::Holder};
use crate::out::Table;

/// A token is never longer.
const TOKEN_OCTETS_MAX: u64 = 4096;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Save a token you were given; it is read from --token or standard input
    Add(Whose),
    /// Forget a token; the server still takes it, see `plenary agent rotate-token`
    Remove(Whose),
    /// List whose tokens are saved, never the tokens
    List,
}

/// Whose token it is.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// `@owner.name`, or the bare name of an owner
    #[arg(required_unless_present = "operator", conflicts_with = "operator", value_name = "AGENT OR OWNER")]
    holder: Option<Holder>,
    /// The operator's
    #[arg(long)]
    operator: bool,
}

impl Whose {
    fn holder(self) -> Holder {
        self.holder.unwrap_or(Holder::Operator)
    }
}

pub(crate) fn run(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Add(whose) => {
            context.check_tokens_file()?;
            let holder = whose.holder();
            let token = match context.token_flag() {
                Some(text) => Token::new(text)?,
                None => read_token(context, &holder)?,
            };
            context.keep_token(&holder, token.reveal())
        }
        Command::Remove(whose) => {
            let (server, holder) = (context.server()?, whose.holder());
            let was_there = context.tokens_file_needed()?.change(|tokens| tokens.remove(&server, &holder))?;
            if !was_there {
                return Err(Failure::local(format!("there is no saved token of {holder} for {server}")));
            }
            context.out.note(&format!("forgot the token of {holder} for {server}"));
            Ok(())
        }
        Command::List => list(context),
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let tokens = context.tokens_file_needed()?.load()?;
    let saved = tokens.servers().flat_map(|(url, here)| here.holders().map(move |holder| (url, holder)));
    if context.out.is_json() {
        let list: Vec<_> =
            saved.map(|(url, holder)| json!({"server": url, "holder": holder.to_string()})).collect();
        return Ok(context.out.line(&json!({ "tokens": list }).to_string())?);
    }
    let mut table = Table::new(&["SERVER", "OF"]);
    saved.for_each(|(url, holder)| table.row([url, &holder.to_string()]));
    Ok(context.out.table(&table, "no tokens are saved")?)
}

fn read_token(context: &Context, holder: &Holder) -> Result<Token, Failure> {
    let stdin = std::io::stdin();
    let mut line = String::new();
    let read = if stdin.is_terminal() {
        context.out.ask(&format!("The token of {holder}: "));
        let hidden = Hidden::begin();
        let read = stdin.lock().take(TOKEN_OCTETS_MAX).read_line(&mut line);
        drop(hidden);
        context.out.note("");
        read
    } else {
        stdin.lock().take(TOKEN_OCTETS_MAX).read_line(&mut line)
    };
    read.map_err(|e| Failure::local(format!("standard input cannot be read: {e}")))?;
    Token::new(line.trim()).map_err(|e| {
        Failure::usage(e.to_string(), "give the token on one line of standard input, or with --token")
    })
}

/// While it lives the terminal does not show what is typed.
struct Hidden(Option<rustix::termios::Termios>);

impl Hidden {
    fn begin() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut quiet) = before.clone() {
            quiet.local_modes.remove(LocalModes::ECHO);
            let _shown = tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _kept = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
