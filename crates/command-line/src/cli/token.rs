//! `plenary token`: the tokens saved on this machine; tokens with a scope, which the server creates, are in `scoped`.
//! Must not know: what a token allows; the server only names its holder.

use std::io::{BufRead, IsTerminal, Read};

use clap::{Args, Subcommand};
use plenary_client::{Error, FaultKind, Token};
use plenary_kernel::{AgentHandle, OwnerName};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use super::{
    context::Context,
    failure::Failure,
    identity::{Credential, Holder, TokenSource},
    scoped,
};
use crate::out::Table;

const TOKEN_BYTES_MAX: u64 = 4096;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Save a token, read from --token or standard input, if the server accepts it or does not answer
    #[command(after_help = "Example:\n  plenary token add @nick.assistant < token.txt")]
    Add(TokenHolder),
    /// Delete a saved token; it stays valid at the server until `plenary agent rotate-token`
    Remove(TokenHolder),
    /// List the holders of saved tokens; tokens are never printed
    List,
    /// Exchange a JWT of a CI, or of SPIFFE, for a token of the agent that the server's rules name
    #[command(after_help = "Example:\n  export PLENARY_TOKEN=$(plenary token exchange --file jwt.txt)")]
    Exchange(scoped::Exchange),
    /// Create a token of an agent with a scope
    Create(scoped::Create),
    /// List an agent's additional tokens, and its OAuth clients
    Issued(scoped::AgentOption),
    /// Revoke an additional token of an agent, and the tokens created with it
    Revoke(scoped::Revoke),
}

/// The holder of a token.
#[derive(Debug, Args)]
pub(crate) struct TokenHolder {
    /// `@owner.name`, or the bare name of an owner
    #[arg(required_unless_present = "operator", conflicts_with = "operator", value_name = "AGENT OR OWNER")]
    holder: Option<Holder>,
    /// The operator's token
    #[arg(long)]
    operator: bool,
}

impl TokenHolder {
    fn holder(self) -> Holder {
        self.holder.unwrap_or(Holder::Operator)
    }
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Add(holder_args) => {
            context.check_tokens_file()?;
            let holder = holder_args.holder();
            let token = match context.token_flag() {
                Some(text) => Token::new(text)?,
                None => read_token(context, &holder)?,
            };
            check(context, &holder, &token).await?;
            context.save_token(&holder, token.reveal())
        }
        Command::Remove(holder_args) => {
            let (server, holder) = (context.server()?, holder_args.holder());
            let was_saved = context.tokens_file_needed()?.change(|tokens| tokens.remove(&server, &holder))?;
            if !was_saved {
                return Err(Failure::local(format!("there is no saved token of {holder} for {server}")));
            }
            context.out.note(&format!("deleted the saved token of {holder} for {server}"));
            Ok(())
        }
        Command::List => list(context),
        Command::Exchange(args) => scoped::exchange(context, args).await,
        Command::Create(args) => scoped::create(context, args).await,
        Command::Issued(agent_option) => scoped::issued(context, agent_option).await,
        Command::Revoke(args) => scoped::revoke(context, args).await,
    }
}

/// Asks the server for the holder of the token; a server that cannot answer now prevents nothing.
async fn check(context: &Context, holder: &Holder, token: &Token) -> Result<(), Failure> {
    let (server, file) = (context.server()?, context.tokens_file_needed()?);
    let source = TokenSource::Saved(holder.clone(), file.path().to_owned());
    let client = context.client_speaking(server.clone(), &Credential { token: token.clone(), source })?;
    let person = |owner: &OwnerName| AgentHandle::of_recipient(&format!("@{owner}"));
    let speaker = match holder {
        Holder::Operator => None,
        Holder::Owner(owner) => Some(person(owner).map_err(|error| Failure::local(error.to_string()))?),
        Holder::Agent(handle) => Some(handle.clone()),
    };
    let answer = match speaker {
        Some(speaker) => client.expecting(speaker).me().await.map(drop),
        None => client.owners(None).await.map(drop),
    };
    let is_wrong = match &answer {
        // A valid token may lack the scope to read its own agent.
        Err(Error::Refused(refused)) => {
            refused.status == 401 || *holder == Holder::Operator && matches!(refused.status, 403 | 404)
        }
        // It does not know the token: the token is wrong, or another program listens there.
        Err(Error::Network(fault)) => fault.kind == FaultKind::Unproved,
        Ok(()) | Err(_) => false,
    };
    match answer {
        Err(_) if is_wrong => Err(Failure::auth(
            format!("{server} does not accept this as the token of {holder}; nothing was saved"),
            "copy the token exactly, and check the name and the server's address",
        )),
        Err(error) => {
            context.out.note(&format!("the token could not be checked: {error}"));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let tokens = context.tokens_file_needed()?.load()?;
    let saved = tokens.servers().flat_map(|(url, tokens)| tokens.holders().map(move |holder| (url, holder)));
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
        let hidden = HiddenInput::begin();
        let read = stdin.lock().take(TOKEN_BYTES_MAX).read_line(&mut line);
        drop(hidden);
        context.out.note("");
        read
    } else {
        stdin.lock().take(TOKEN_BYTES_MAX).read_line(&mut line)
    };
    read.map_err(|e| Failure::local(format!("standard input cannot be read: {e}")))?;
    Token::new(line.trim()).map_err(|e| {
        Failure::usage(e.to_string(), "give the token on one line of standard input, or with --token")
    })
}

/// Hides the typed characters at the terminal until it is dropped.
struct HiddenInput(Option<rustix::termios::Termios>);

impl HiddenInput {
    fn begin() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut quiet) = before.clone() {
            quiet.local_modes.remove(LocalModes::ECHO);
            let _shown = tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _restored = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
