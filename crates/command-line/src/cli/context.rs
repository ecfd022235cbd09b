//! The context of every client command: settings, the server, the caller, and the output.
//! Must not know: any command.

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
    time::Duration,
};

use plenary_client::{BaseUrl, Builder, Client, Error, Reply, Roots, TokenKind};
use plenary_kernel::{AgentHandle, DOCTOR_NAME, OwnerName};

use super::{
    Global, connect,
    environment::Environment,
    failure::Failure,
    identity::{self, Credential, Holder, Identity, Realm, Source, TokensFile},
    server_address::{self, ServerAddress, UrlSource},
};
use crate::{
    out::{Out, Table},
    paths,
    program::Program,
};

/// One command's context.
pub(crate) struct Context {
    pub out: Out,
    pub environment: Environment,
    /// The program around the command line.
    pub program: Program,
    global: Global,
    elsewhere: RefCell<Option<BaseUrl>>,
    connect_time: Cell<Option<Duration>>,
    used: RefCell<Option<(Option<Identity>, Credential)>>,
}

impl Context {
    /// A context; everything is resolved when it is first needed.
    pub(crate) fn new(global: Global, out: Out, environment: Environment, program: Program) -> Self {
        let (elsewhere, connect_time, used) = (RefCell::new(None), Cell::new(None), RefCell::new(None));
        Self { out, environment, program, global, elsewhere, connect_time, used }
    }

    pub(crate) fn server(&self) -> Result<BaseUrl, Failure> {
        Ok(self.server_address()?.url)
    }

    /// The server's URL, and its source.
    pub(crate) fn server_address(&self) -> Result<ServerAddress, Failure> {
        match &*self.elsewhere.borrow() {
            Some(url) => Ok(ServerAddress { url: url.clone(), source: UrlSource::Argument }),
            None => {
                let (url, agent) = (self.global.url.as_ref(), self.global.speak_as.as_ref());
                server_address::resolve(url, agent, &self.environment)
            }
        }
    }

    /// Uses the server that an argument names from now on.
    pub(crate) fn use_server(&self, server: BaseUrl) {
        *self.elsewhere.borrow_mut() = Some(server);
    }

    /// Limits how long later clients take to connect to a server on this machine, where only a program that hangs is slow.
    pub(crate) fn connect_within(&self, limit: Duration) {
        self.connect_time.set(Some(limit));
    }

    /// The agent that this command acts as, if any setting names one.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, Failure> {
        identity::resolve(self.global.speak_as.as_ref(), &self.environment)
    }

    /// The linked network whose channels, projects and agents the command uses.
    pub(crate) fn peer(&self) -> Option<&OwnerName> {
        self.global.peer.as_ref()
    }

    /// The agent or person that this very command names to act as.
    pub(crate) fn named_speaker(&self) -> Option<&AgentHandle> {
        self.global.speak_as.as_ref()
    }

    /// Whether this very command names an agent to act as.
    pub(crate) fn speaks_as_agent(&self) -> bool {
        self.global.speak_as.is_some()
    }

    /// The identity of a coding agent in a directory, if there is one.
    pub(crate) fn identity_of(&self, client: &str, directory: &Path) -> Result<Option<Identity>, Failure> {
        identity::resolve_client(self.global.speak_as.as_ref(), &self.environment, client, directory)
    }

    /// The same context for another agent, in another directory.
    pub(crate) fn speaking_as(&self, handle: &AgentHandle, directory: &Path) -> Self {
        let global = Global { speak_as: Some(handle.clone()), ..self.global.clone() };
        Self::new(global, self.out, self.environment.moved(directory.to_owned()), self.program)
    }

    /// The working directory; an error if it was removed.
    pub(crate) fn directory(&self) -> Result<&PathBuf, Failure> {
        self.environment.directory().ok_or_else(|| Failure::local("the working directory is gone"))
    }

    /// The same context in another directory, without notes.
    pub(crate) fn silent_in(&self, directory: &Path) -> Self {
        let environment = self.environment.moved(directory.to_owned());
        Self::new(self.global.clone(), self.out.silent(), environment, self.program)
    }

    /// The tokens file; `None` if the user has no home.
    pub(crate) fn tokens_file(&self) -> Option<TokensFile> {
        let directory = paths::config_dir(&|name| self.environment.var(name))?;
        let moved = self.server_address();
        let moved = moved.ok().and_then(|address| address.moved(&self.environment));
        Some(TokensFile::in_dir(&directory).with_moved(moved))
    }

    /// The tokens file; an error if the user has no home.
    pub(crate) fn tokens_file_needed(&self) -> Result<TokensFile, Failure> {
        let next = "set HOME or XDG_CONFIG_HOME";
        self.tokens_file()
            .ok_or_else(|| Failure::local_with("there is no home directory for the saved tokens", next))
    }

    pub(crate) fn token_flag(&self) -> Option<&str> {
        self.global.token.as_deref()
    }

    /// `--token`, else `PLENARY_TOKEN`.
    pub(crate) fn given_token(&self) -> Result<Option<Credential>, Failure> {
        identity::given_token(self.global.token.as_deref(), &self.environment)
    }

    /// A client without a token.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.client_of(self.server()?)
    }

    /// A client of another server, without a token.
    pub(crate) fn client_of(&self, server: BaseUrl) -> Result<Client, Failure> {
        Ok(self.builder(server).build()?)
    }

    /// A client with this token. A saved token is not sent to a listener on this machine before the listener has proved
    /// that it knows the token.
    pub(crate) fn client_speaking(
        &self,
        server: BaseUrl,
        credential: &Credential,
    ) -> Result<Client, Failure> {
        let builder = self.builder(server);
        let builder =
            if credential.source.is_given() { builder } else { builder.proving(credential.token.clone()) };
        Ok(builder.build()?.with_token(credential.token.clone()))
    }

    /// A client with the saved token of an agent for the server; `None` if there is none.
    pub(crate) fn saved_client(&self, handle: &AgentHandle) -> Result<Option<Client>, Failure> {
        let server = self.server()?;
        let holder = Holder::Agent(handle.clone());
        let credential = identity::saved(self.tokens_file().as_ref(), &server, &holder)?;
        credential.map(|credential| self.client_speaking(server, &credential)).transpose()
    }

    /// The file with a server's certificate authority: `--cacert`, else `PLENARY_CACERT`, else the one with which the directory was
    /// connected to this server.
    pub(crate) fn cacert(&self, server: &BaseUrl) -> Option<PathBuf> {
        let given =
            self.global.cacert.clone().or_else(|| self.environment.var("PLENARY_CACERT").map(PathBuf::from));
        given.or_else(|| {
            let recorded = server_address::recorded(self.global.speak_as.as_ref(), &self.environment)?;
            recorded.cacert.filter(|_| recorded.url == *server)
        })
    }

    /// The same file, for a program that starts in another directory.
    pub(crate) fn absolute_cacert(&self, server: &BaseUrl) -> Option<PathBuf> {
        let file = self.cacert(server)?;
        Some(self.environment.directory().map_or_else(|| file.clone(), |directory| directory.join(&file)))
    }

    fn builder(&self, server: BaseUrl) -> Builder {
        let file = self.cacert(&server);
        let roots = file.map_or(Roots::System, Roots::File);
        let limit = self.connect_time.get().filter(|_| server.is_loopback());
        let builder = Client::builder(server).roots(roots);
        limit.map_or(builder.clone(), |limit| builder.connect_timeout(limit))
    }

    /// A client of the current agent.
    pub(crate) fn agent_client(&self) -> Result<Client, Failure> {
        self.client_of_identity(self.identity()?)
    }

    /// A client of the agent that the command is about, whichever agent is the current one.
    pub(crate) fn client_as(&self, handle: &AgentHandle) -> Result<Client, Failure> {
        self.client_of_identity(Some(Identity { handle: handle.clone(), source: Source::Argument }))
    }

    /// A client of the caller: the current agent if there is one, else the person at this machine.
    pub(crate) fn speaker(&self) -> Result<Client, Failure> {
        let is_agents =
            |given: Credential| matches!(given.token.kind(), TokenKind::Agent | TokenKind::Unknown);
        let identity = self.identity()?;
        if identity.is_some() || self.given_token()?.is_some_and(is_agents) {
            return self.client_of_identity(identity);
        }
        let handle = AgentHandle::of_recipient(&format!("@{}", connect::default_owner(self)?))
            .map_err(|error| Failure::local(format!("your name: {error}")))?;
        self.client_of_identity(Some(Identity { handle, source: Source::Person }))
    }

    /// The token of an identity: its own, or, for an owner's person, that of the owner or the operator.
    fn credential_of(&self, identity: Option<&Identity>) -> Result<Credential, Failure> {
        let (file, server) = (self.tokens_file(), self.server()?);
        let failure = match identity::agent_credential(self.given_token()?, identity, &server, file.as_ref())
        {
            Err(failure @ Failure::Auth { .. }) => failure,
            credential => return credential,
        };
        let Some(person) = identity.filter(|identity| identity.is_person()) else {
            return Err(self.undecided(identity).unwrap_or(failure));
        };
        let owner = person.handle.owner_name();
        let (given, realm) = (self.given_token()?, Realm::Owner(&owner));
        let credential =
            identity::configuring_credential(given, realm, &server, file.as_ref(), &self.environment);
        credential.map_err(|_| failure)
    }

    /// The failure if several coding agents are connected and nothing selects one.
    fn undecided(&self, identity: Option<&Identity>) -> Option<Failure> {
        let directory = self.environment.directory().filter(|_| identity.is_none())?;
        let agents = identity::candidates(&self.environment, directory);
        let agents: Vec<&str> = agents.iter().map(AgentHandle::as_str).collect();
        (agents.len() > 1).then(|| {
            let names = agents.join(", ");
            Failure::auth(
                format!("several coding agents are connected in this directory: {names}"),
                format!("name one, e.g. `--as {}`", agents[0]),
            )
        })
    }

    fn client_of_identity(&self, identity: Option<Identity>) -> Result<Client, Failure> {
        let credential = self.credential_of(identity.as_ref())?;
        let mut client = self.client_speaking(self.server()?, &credential)?;
        if let Some(identity) = &identity {
            client = client.expecting(identity.handle.clone());
        }
        if let Some(peer) = self.peer() {
            client = client.at_peer(peer.clone());
        }
        *self.used.borrow_mut() = Some((identity, credential));
        Ok(client)
    }

    /// A client with any available token, or without one for a server that needs none. If no token was found, also the
    /// reason, in case the server requires one.
    pub(crate) fn any_client(&self) -> Result<(Client, Option<Failure>), Failure> {
        let failure = match self.agent_client() {
            Ok(client) => return Ok((client, None)),
            Err(failure @ Failure::Auth { .. }) => failure,
            Err(failure) => return Err(failure),
        };
        let client = self.client()?;
        let Some(given) = self.given_token()? else { return Ok((client, Some(failure))) };
        Ok((self.client_with(given)?, None))
    }

    /// A client with this token, without an expected agent.
    pub(crate) fn client_with(&self, credential: Credential) -> Result<Client, Failure> {
        let client = self.client_speaking(self.server()?, &credential)?;
        *self.used.borrow_mut() = Some((None, credential));
        Ok(client)
    }

    /// The directory for copies of settings that a command changes; `None` without a home.
    pub(crate) fn copies(&self) -> Option<PathBuf> {
        Some(paths::state_dir(&|name| self.environment.var(name))?.join("copies"))
    }

    /// A client with the rights to configure.
    pub(crate) fn configuring_client(&self, realm: Realm<'_>) -> Result<Client, Failure> {
        let file = self.tokens_file();
        let server = self.server()?;
        let credential = identity::configuring_credential(
            self.given_token()?,
            realm,
            &server,
            file.as_ref(),
            &self.environment,
        )?;
        self.client_with(credential)
    }

    /// A client that sees what an owner sees.
    pub(crate) fn owner_client(&self, owner: &OwnerName) -> Result<Client, Failure> {
        let (file, server) = (self.tokens_file(), self.server()?);
        let credential = identity::owner_credential(self.given_token()?, owner, &server, file.as_ref())?;
        self.client_with(credential)
    }

    /// A client that sees what the named owner, else an agent, else the operator sees. A caller who is not the operator is the
    /// person at this machine.
    pub(crate) fn viewing_client(
        &self,
        owner: Option<&OwnerName>,
        is_agent: bool,
    ) -> Result<Client, Failure> {
        match (owner, is_agent) {
            (Some(owner), _) => self.owner_client(owner),
            (None, true) => self.agent_client(),
            (None, false) => match self.configuring_client(Realm::Everything) {
                Err(Failure::Auth { .. }) => self.speaker(),
                client => client,
            },
        }
    }

    /// The last identity and token used, to explain a refusal.
    pub(crate) fn used(&self) -> Option<(Option<Identity>, Credential)> {
        self.used.borrow().clone()
    }

    /// Saves a token that the server shows only once. If that fails, prints the token, so that it is not lost.
    pub(crate) fn save_token(&self, holder: &Holder, token: &str) -> Result<(), Failure> {
        let server = self.server()?;
        let saved = self.tokens_file_needed().and_then(|file| {
            file.change(|tokens| tokens.put(&server, holder, token))?;
            Ok(file)
        });
        match saved {
            Ok(file) => {
                // Nobody asked for the agent from which `doctor` sends its test messages.
                if !matches!(holder, Holder::Agent(agent) if agent.name() == DOCTOR_NAME) {
                    self.out.note(&format!("the token of {holder} is saved in {}", file.path().display()));
                }
                Ok(())
            }
            Err(failure) => {
                self.out.note(&format!(
                    "the token of {holder} could not be saved; it is shown only once: {token}"
                ));
                Err(failure)
            }
        }
    }

    /// Fails before any change on the server if a new token could not be saved.
    pub(crate) fn check_tokens_file(&self) -> Result<(), Failure> {
        self.tokens_file_needed()?.change(|_| ())
    }

    /// Reads every page of a list: prints the JSON under `--json`, one line each, and passes each page to `take`.
    pub(crate) async fn pages<T>(
        &self,
        mut ask: impl AsyncFnMut(Option<&str>) -> Result<Reply<T>, Error>,
        next: fn(&T) -> Option<&str>,
        mut take: impl FnMut(&T),
    ) -> Result<(), Failure> {
        let mut cursor: Option<String> = None;
        loop {
            let reply = ask(cursor.as_deref()).await?;
            take(&reply);
            self.answer(&reply, |_| Ok(()))?;
            match next(&reply) {
                // A cursor that does not change would repeat the same page for ever.
                Some(next) if cursor.as_deref() != Some(next) => cursor = Some(next.to_owned()),
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// A table for people; under `--json` its rows were printed already.
    pub(crate) fn table(&self, table: &Table, empty: &str) -> Result<(), Failure> {
        if self.out.is_json() { Ok(()) } else { Ok(self.out.table(table, empty)?) }
    }

    /// The server's JSON under `--json`, else a line that says what was done.
    pub(crate) fn done<T>(&self, reply: &Reply<T>, line: &str) -> Result<(), Failure> {
        self.answer(reply, |_| Ok(self.out.line(line)?))
    }

    /// The server's JSON under `--json`, else the text that `print` prints for people.
    pub(crate) fn answer<T>(
        &self,
        reply: &Reply<T>,
        print: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !self.out.is_json() {
            return print(&reply.value);
        }
        if !reply.json().is_empty() {
            self.out.line(reply.json().trim_end())?;
        }
        Ok(())
    }
}
