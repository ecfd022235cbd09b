//! The token of a command: a given one if its kind is right, otherwise a saved one (wire.md D.1).
//! Must not know: the calls made with it.

use std::{fmt, path::PathBuf};

use plenary_client::{BaseUrl, Token, TokenKind};
use plenary_kernel::OwnerName;

use super::{Holder, Identity, Source, TokensFile};
use crate::{
    cli::{environment::Environment, failure::Failure, server_address},
    paths,
};

const OPERATOR_VARIABLE: &str = "PLENARY_OPERATOR_TOKEN";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// `--token`
    Flag,
    /// The variable of this name.
    Environment(&'static str),
    /// The tokens file, for this holder.
    Saved(Holder, PathBuf),
    /// The file the server wrote in its data directory on this machine.
    DataDir(PathBuf),
}

impl TokenSource {
    /// Whether the user gave it with the command or its environment, for this server. Every other token is looked up, and
    /// must not be sent to an unknown listener at the server's address.
    pub(crate) fn is_given(&self) -> bool {
        match self {
            Self::Flag => true,
            Self::Environment(name) => *name != OPERATOR_VARIABLE,
            Self::Saved(..) | Self::DataDir(_) => false,
        }
    }
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("--token"),
            Self::Environment(name) => f.write_str(name),
            Self::Saved(holder, path) => write!(f, "{}, for {holder}", path.display()),
            Self::DataDir(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A token and its source.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    pub token: Token,
    /// Its origin, for people.
    pub source: TokenSource,
}

/// The token of `--token`, else of `PLENARY_TOKEN`.
pub(crate) fn given_token(
    flag: Option<&str>,
    environment: &Environment,
) -> Result<Option<Credential>, Failure> {
    let (text, source) = match flag {
        Some(text) => (text.to_owned(), TokenSource::Flag),
        None => match environment.var("PLENARY_TOKEN") {
            Some(text) => (text, TokenSource::Environment("PLENARY_TOKEN")),
            None => return Ok(None),
        },
    };
    credential(&text, source).map(Some)
}

fn credential(text: &str, source: TokenSource) -> Result<Credential, Failure> {
    let token = Token::new(text.trim()).map_err(|e| {
        Failure::usage(format!("the token from {source} is not a token: {e}"), "copy the token exactly")
    })?;
    Ok(Credential { token, source })
}

/// The token of an agent: a given one that is not an operator's or owner's, else the saved one.
pub(crate) fn agent_credential(
    given: Option<Credential>,
    identity: Option<&Identity>,
    server: &BaseUrl,
    file: Option<&TokensFile>,
) -> Result<Credential, Failure> {
    let is_agents = |kind| matches!(kind, TokenKind::Agent | TokenKind::Unknown);
    if let Some(given) = given.filter(|given| is_agents(given.token.kind())) {
        return Ok(given);
    }
    let Some(identity) = identity else {
        return Err(Failure::auth(
            "no agent is chosen",
            "name one with `--as @owner.name` or PLENARY_AS, or for this directory with `plenary use @owner.name`",
        ));
    };
    let handle = &identity.handle;
    let holder = Holder::Agent(handle.clone());
    match saved(file, server, &holder)? {
        Some(credential) => Ok(credential),
        None if identity.source == Source::Person => Err(Failure::no_token(
            Holder::Owner(handle.owner_name()),
            format!(
                "no agent is chosen, and there is no saved token of yours (@{}) for {server}",
                handle.owner()
            ),
            "to start a server here, run `plenary serve` or `plenary connect claude --serve`; to use one that runs, \
             run `plenary token add OWNER` with the token that its operator gave you",
        )),
        None => {
            let next = match saved_elsewhere(file, &holder) {
                Some(url) => format!(
                    "to use the server of the saved token, add `--url {url}`; if {server} is the same server, save the token for it \
                     too with `plenary token add {handle}`"
                ),
                None => format!(
                    "to create the agent, run `plenary agent add {handle}`; if you have its token, \
                     `plenary token add {handle}`, or set PLENARY_TOKEN"
                ),
            };
            let what = format!("there is no saved token of {handle} (from {}) for {server}", identity.source);
            Err(Failure::no_token(holder, what, next))
        }
    }
}

/// A server for which a token of this holder is saved.
pub(crate) fn saved_elsewhere(file: Option<&TokensFile>, holder: &Holder) -> Option<String> {
    let tokens = file?.load().ok()?;
    let mut servers = tokens.servers().filter(|(_, saved)| saved.get(holder).is_some());
    servers.next().map(|(url, _)| url.to_owned())
}

/// The saved token of a holder for a server.
pub(crate) fn saved(
    file: Option<&TokensFile>,
    server: &BaseUrl,
    holder: &Holder,
) -> Result<Option<Credential>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let tokens = file.load()?.of(server);
    let source = || TokenSource::Saved(holder.clone(), file.path().to_owned());
    tokens.get(holder).map(|text| credential(text, source())).transpose()
}

/// The scope of a configuring command, which decides whose token it needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Realm<'a> {
    /// The server: the operator's token only.
    Server,
    /// An owner's resources: the operator's token or that owner's.
    Owner(&'a OwnerName),
    /// Everything that the token may see.
    Everything,
}

/// The token that configures: a given operator's or owner's, `PLENARY_OPERATOR_TOKEN`, a given one of an agent (in
/// `PLENARY_TOKEN` only for [`Realm::Everything`]), a saved one of the operator or of the owner concerned, on the server's
/// own machine the file in its data directory, and for [`Realm::Everything`] the only owner's.
pub(crate) fn configuring_credential(
    given: Option<Credential>,
    realm: Realm<'_>,
    server: &BaseUrl,
    file: Option<&TokensFile>,
    environment: &Environment,
) -> Result<Credential, Failure> {
    // A token of no known kind may be an operator's own choice, but in PLENARY_TOKEN it is an agent's.
    let configures = |given: &Credential| match given.token.kind() {
        TokenKind::Operator | TokenKind::Owner => true,
        TokenKind::Unknown => given.source == TokenSource::Flag,
        TokenKind::Agent => false,
    };
    if let Some(given) = given.as_ref().filter(|given| configures(given)) {
        return Ok(given.clone());
    }
    if let Some(text) = environment.var(OPERATOR_VARIABLE) {
        return credential(&text, TokenSource::Environment(OPERATOR_VARIABLE));
    }
    // A saved token must not do or show what the given one of an agent may not.
    let is_allowed = |given: &Credential| {
        given.token.kind() == TokenKind::Agent
            && (given.source == TokenSource::Flag || matches!(realm, Realm::Everything))
    };
    if let Some(given) = given.filter(is_allowed) {
        return Ok(given);
    }
    if let Some(credential) = saved(file, server, &Holder::Operator)? {
        return Ok(credential);
    }
    if let Realm::Owner(owner) = realm
        && let Some(credential) = saved(file, server, &Holder::Owner(owner.clone()))?
    {
        return Ok(credential);
    }
    if is_on_this_machine(server, environment)
        && let Some(credential) = from_data_dir(environment)?
    {
        return Ok(credential);
    }
    let only = match (realm, file) {
        (Realm::Everything, Some(file)) => file.load()?.of(server).only_owner().cloned(),
        (Realm::Everything | Realm::Server | Realm::Owner(_), _) => None,
    };
    let owners = only.map(|owner| saved(file, server, &Holder::Owner(owner))).transpose()?.flatten();
    owners.ok_or_else(|| {
        Failure::no_token(
            Holder::Operator,
            format!("there is no token of the operator or owner for {server}"),
            if server.is_loopback() {
                "start the server with `plenary serve`, which creates the operator's token at its first start, and run this \
                 as the same user with the same PLENARY_DATA; or set PLENARY_OPERATOR_TOKEN"
            } else {
                "set PLENARY_OPERATOR_TOKEN, or save a token with `plenary token add --operator` or \
                 `plenary token add OWNER`"
            },
        )
    })
}

/// The token of an owner whose view a command shows: a given one of an owner, or the saved one. The operator's token would
/// show what the owner may not see.
pub(crate) fn owner_credential(
    given: Option<Credential>,
    owner: &OwnerName,
    server: &BaseUrl,
    file: Option<&TokensFile>,
) -> Result<Credential, Failure> {
    if let Some(given) = given {
        match given.token.kind() {
            TokenKind::Owner => return Ok(given),
            TokenKind::Unknown if given.source == TokenSource::Flag => return Ok(given),
            TokenKind::Agent | TokenKind::Operator if given.source == TokenSource::Flag => {
                let what = format!(
                    "the token of --token is not that of an owner, and --owner asks for the view of {owner}"
                );
                return Err(Failure::usage(
                    what,
                    format!("give the token of {owner}, or leave out one of the two"),
                ));
            }
            TokenKind::Agent | TokenKind::Operator | TokenKind::Unknown => {}
        }
    }
    let holder = Holder::Owner(owner.clone());
    saved(file, server, &holder)?.ok_or_else(|| {
        Failure::no_token(
            holder,
            format!("there is no saved token of the owner {owner} for {server}"),
            format!(
                "save it with `plenary token add {owner}`; if it is lost, `plenary owner rotate-token {owner}` replaces it"
            ),
        )
    })
}

/// The only owner with a saved token for this server, and the token.
pub(crate) fn only_owner_credential(
    server: &BaseUrl,
    file: Option<&TokensFile>,
) -> Result<Option<(OwnerName, Credential)>, Failure> {
    let Some(tokens) = file.map(TokensFile::load).transpose()? else { return Ok(None) };
    let Some(owner) = tokens.of(server).only_owner().cloned() else { return Ok(None) };
    Ok(saved(file, server, &Holder::Owner(owner.clone()))?.map(|credential| (owner, credential)))
}

/// A token for a second server: `PLENARY_REMOTE_TOKEN`, or a saved one. Never a token that was given for the main
/// server.
pub(crate) fn remote_credential(
    server: &BaseUrl,
    owner: Option<&OwnerName>,
    file: Option<&TokensFile>,
    environment: &Environment,
) -> Result<Credential, Failure> {
    if let Some(text) = environment.var("PLENARY_REMOTE_TOKEN") {
        return credential(&text, TokenSource::Environment("PLENARY_REMOTE_TOKEN"));
    }
    let holders = [Some(Holder::Operator), owner.map(|owner| Holder::Owner(owner.clone()))];
    for holder in holders.iter().flatten() {
        if let Some(credential) = saved(file, server, holder)? {
            return Ok(credential);
        }
    }
    if let Some((_, credential)) = only_owner_credential(server, file)? {
        return Ok(credential);
    }
    Err(Failure::auth(
        format!("there is no token of an owner or operator for {server}"),
        format!("set PLENARY_REMOTE_TOKEN, or save one with `plenary --url {server} token add OWNER`"),
    ))
}

/// Whether the server runs on this machine: by its address, or by the URL file in the data directory.
fn is_on_this_machine(server: &BaseUrl, environment: &Environment) -> bool {
    let published = || server_address::of_data_dir(environment).ok().flatten();
    server.is_loopback() || published().is_some_and(|address| address.url == *server)
}

/// A missing file and an unreadable one are the same here: another user's server is not a default.
fn from_data_dir(environment: &Environment) -> Result<Option<Credential>, Failure> {
    let directory = paths::data_dir(&|name| environment.var(name));
    let Some(path) = directory.map(|directory| directory.join(paths::OPERATOR_TOKEN_FILE)) else {
        return Ok(None);
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => credential(&text, TokenSource::DataDir(path)).map(Some),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
#[path = "credential_tests.rs"]
mod tests;
