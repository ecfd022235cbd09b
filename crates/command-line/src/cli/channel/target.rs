//! The channel, the server and the caller of a command. A token from the environment is not sent to a server that
//! only a channel's URL names: the author of a URL must not get it.
//! Must not know: the operation.

use plenary_client::{Client, Error, channels::ChannelAddress};

use crate::cli::{context::Context, failure::Failure, server_address::UrlSource};

/// The server, channel and caller of a command.
pub(super) struct ChannelTarget {
    /// A client with the available token, if any.
    pub(super) client: Client,
    /// The channel's id; empty for a command without one.
    pub(super) id: String,
    /// Why there is no token.
    pub(super) tokenless: Option<Failure>,
}

impl ChannelTarget {
    /// Resolves the server, from the channel's URL if given, and the token.
    pub(super) fn of(context: &Context, channel: Option<&ChannelAddress>) -> Result<Self, Failure> {
        // The own server forwards the requests for a channel of a linked network, whatever URL names the channel.
        if let Some(channel) = channel.filter(|_| context.peer().is_none()) {
            use_server_of(context, channel)?;
        }
        let (client, tokenless) = context.any_client()?;
        let client = match channel.and_then(ChannelAddress::key) {
            Some(key) => client.with_channel_key(key),
            None => client,
        };
        let id = channel.map(|channel| channel.id().to_owned()).unwrap_or_default();
        Ok(Self { client, id, tokenless })
    }

    /// The stable name of this agent, if required: `given`, else its handle.
    pub(super) async fn name(&self, context: &Context, given: Option<String>) -> Result<String, Failure> {
        if let Some(name) = given {
            return Ok(name);
        }
        if let Some(identity) = context.identity()? {
            return Ok(identity.handle.as_str().to_owned());
        }
        let unnamed =
            || Failure::usage("no agent is chosen", "name one with --agent NAME or --as @owner.name");
        if self.tokenless.is_some() {
            return Err(unnamed());
        }
        match self.client.me().await {
            Ok(me) => Ok(me.handle.as_str().to_owned()),
            // The token belongs to an owner or the operator.
            Err(Error::Refused(refused)) if matches!(refused.status, 401 | 403 | 404) => Err(unnamed()),
            Err(error) => Err(error.into()),
        }
    }
}

fn use_server_of(context: &Context, channel: &ChannelAddress) -> Result<(), Failure> {
    let Some(server) = &channel.server else { return Ok(()) };
    let current = context.server_address()?;
    if current.url == *server || current.source == UrlSource::Flag {
        return Ok(());
    }
    let is_of_environment = context.token_flag().is_none() && context.given_token()?.is_some();
    if is_of_environment {
        let (what, next) = if current.source == UrlSource::Default {
            (
                format!(
                    "the channel is at {server}, and it is not known whether PLENARY_TOKEN is for that server"
                ),
                String::new(),
            )
        } else {
            (
                format!(
                    "the channel is at {server}, but PLENARY_TOKEN is for {} (from {})",
                    current.url, current.source
                ),
                format!("if that is the same server, write only `{}`; ", channel.id()),
            )
        };
        return Err(Failure::usage(what, format!("{next}if the token is for {server}, add --url {server}")));
    }
    context.use_server(server.clone());
    Ok(())
}
