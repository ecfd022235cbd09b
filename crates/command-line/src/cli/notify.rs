//! `plenary requests notify`: subscriptions of people to notifications.
//! Must not know: how notifications are sent.

use std::io::Read as _;

use clap::{Args, Subcommand, ValueEnum};
use plenary_client::{Client, IdempotencyKey};
use plenary_kernel::{AgentHandle, NoticeId, OwnerName, SubscriptionId, TimestampMs};
use serde_json::{Map, Value, json};

use super::{context::Context, failure::Failure, identity::Realm, requests};
use crate::out::{Table, clean, counted, utc};

/// Largest secret read from a file, in bytes.
const SECRET_BYTES_MAX: u64 = 4 << 10;

/// Kinds of receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Any program: Standard Webhooks, signed; WHERE is its URL
    Webhook,
    /// A topic of ntfy; WHERE is its URL
    Ntfy,
    /// An incoming webhook of Slack; WHERE is its URL
    Slack,
    /// A chat with a bot; WHERE is the id of the chat
    Telegram,
    /// A mailbox; WHERE is its address
    Email,
}

/// The owner of the subscriptions.
#[derive(Debug, Clone, Args)]
pub(crate) struct OwnerArgs {
    /// For the operator: the owner [default: the only owner]
    #[arg(long)]
    owner: Option<OwnerName>,
}

/// The filters and the schedule of a subscription.
#[derive(Debug, Args)]
pub(crate) struct ChannelArgs {
    /// Name of the subscription
    #[arg(long)]
    name: Option<String>,
    /// Only these events, separated by commas
    #[arg(long, value_delimiter = ',',
        value_parser = ["request.created", "request.answered", "request.withdrawn", "request.expired"])]
    events: Option<Vec<String>>,
    /// Only requests of these kinds, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = requests::KINDS)]
    kinds: Option<Vec<String>>,
    /// Only requests of these agents
    #[arg(long, value_delimiter = ',')]
    agents: Option<Vec<AgentHandle>>,
    /// The person that it belongs to; requests assigned to another person are left out. `everybody` for no one person
    #[arg(long, value_name = "@OWNER.NAME", value_parser = person)]
    person: Option<String>,
    /// Only requests with at least this urgency
    #[arg(long, value_name = "URGENCY", value_parser = ["low", "normal", "high"])]
    min_urgency: Option<String>,
    /// Quiet hours, e.g. 22:00-07:00, with a digest at their end; `none` for no quiet hours
    #[arg(long, value_name = "FROM-TO", value_parser = quiet)]
    quiet: Option<QuietHours>,
    /// Time zone of --quiet
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    time_zone: String,
    /// Minutes for which notifications are collected into one digest; 0 sends each at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_440))]
    digest_minutes: Option<u32>,
    /// Enable or disable the subscription
    #[arg(long, value_name = "true|false")]
    enabled: Option<bool>,
}

/// The destination of a subscription.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// A URL, an address or a chat; `-` reads it from standard input
    #[arg(value_name = "WHERE")]
    address: String,
    /// A file with the access token of ntfy, or of the bot
    #[arg(long, value_name = "FILE")]
    secret_file: Option<std::path::PathBuf>,
    /// Server of the Bot API [default: Telegram's own]
    #[arg(long, value_name = "URL")]
    api: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Subscribe to notifications of requests
    Add {
        kind: Kind,
        #[command(flatten)]
        to: ProjectArgs,
        #[command(flatten)]
        which: ChannelArgs,
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// List the subscriptions to notifications
    List {
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// Show a subscription
    Show {
        /// ID of the subscription, see `plenary requests notify list`
        id: SubscriptionId,
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// Change a subscription
    Change {
        /// ID of the subscription, see `plenary requests notify list`
        id: SubscriptionId,
        #[command(flatten)]
        which: ChannelArgs,
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// Remove a subscription
    Rm {
        /// ID of the subscription, see `plenary requests notify list`
        id: SubscriptionId,
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// Send a sample, and print the result
    Test {
        /// ID of the subscription, see `plenary requests notify list`
        id: SubscriptionId,
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// List notifications that did not arrive
    Dead {
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
    /// Send a notification that did not arrive once more
    Retry {
        /// ID of the notification, see `plenary requests notify show`
        id: NoticeId,
        #[command(flatten)]
        owner_args: OwnerArgs,
    },
}

impl Command {
    fn owner(&self) -> Option<&OwnerName> {
        let (Self::Add { owner_args, .. }
        | Self::List { owner_args }
        | Self::Show { owner_args, .. }
        | Self::Change { owner_args, .. }
        | Self::Rm { owner_args, .. }
        | Self::Test { owner_args, .. }
        | Self::Dead { owner_args }
        | Self::Retry { owner_args, .. }) = self;
        owner_args.owner.as_ref()
    }
}

/// The beginning and end of the quiet hours; `None` for none.
#[derive(Debug, Clone)]
struct QuietHours(Option<(String, String)>);

fn quiet(text: &str) -> Result<QuietHours, String> {
    if text == "none" {
        return Ok(QuietHours(None));
    }
    let is_time = |text: &&str| {
        let below =
            |number: &str, end: u8| number.len() == 2 && number.parse().is_ok_and(|value: u8| value < end);
        text.split_once(':').is_some_and(|(hour, minute)| below(hour, 24) && below(minute, 60))
    };
    let (from, to) = text
        .split_once('-')
        .filter(|(from, to)| is_time(from) && is_time(to) && from != to)
        .ok_or("must be two different times such as 22:00-07:00, or `none`")?;
    Ok(QuietHours(Some((from.to_owned(), to.to_owned()))))
}

/// A person's handle, or `everybody`.
fn person(text: &str) -> Result<String, String> {
    if text == "everybody" {
        return Ok(text.to_owned());
    }
    let handle = AgentHandle::of_recipient(text).map_err(|error| error.to_string())?;
    Ok(handle.to_string())
}

impl ChannelArgs {
    /// The members of the request's body. A member to remove is `null`.
    fn members(self) -> Map<String, Value> {
        let Self {
            name,
            events,
            kinds,
            agents,
            person,
            min_urgency,
            quiet,
            time_zone,
            digest_minutes,
            enabled,
        } = self;
        let person = person.map(|person| if person == "everybody" { Value::Null } else { person.into() });
        let quiet = quiet.map(|QuietHours(hours)| match hours {
            Some((from, to)) => json!({"time_zone": time_zone, "from": from, "to": to}),
            None => Value::Null,
        });
        let digest = digest_minutes.map(|minutes| if minutes == 0 { Value::Null } else { minutes.into() });
        let members = [
            ("name", name.map(Value::from)),
            ("events", events.map(Value::from)),
            ("kinds", kinds.map(Value::from)),
            ("agents", agents.map(|agents| json!(agents))),
            ("person", person),
            ("min_urgency", min_urgency.map(Value::from)),
            ("quiet", quiet),
            ("digest_minutes", digest),
            ("enabled", enabled.map(Value::from)),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

impl ProjectArgs {
    fn target(self, kind: Kind) -> Result<Value, Failure> {
        let unread = |error: &std::io::Error| Failure::local(format!("it can't be read: {error}"));
        let address = if self.address == "-" {
            let mut text = String::new();
            std::io::stdin()
                .take(SECRET_BYTES_MAX)
                .read_to_string(&mut text)
                .map_err(|error| unread(&error))?;
            text.trim().to_owned()
        } else {
            self.address
        };
        let token =
            self.secret_file.map(|path| std::fs::read_to_string(path).map(|text| text.trim().to_owned()));
        let token = token.transpose().map_err(|error| unread(&error))?;
        Ok(match kind {
            Kind::Webhook => json!({"kind": "webhook", "url": address}),
            Kind::Slack => json!({"kind": "slack", "url": address}),
            Kind::Email => json!({"kind": "email", "to": address}),
            Kind::Ntfy => {
                let mut target = json!({"kind": "ntfy", "url": address});
                if let Some(token) = token {
                    target["token"] = token.into();
                }
                target
            }
            Kind::Telegram => {
                let Some(token) = token else {
                    let hint = "write it to a file that only you read, and name that with --secret-file";
                    return Err(Failure::usage("the bot's token is missing".to_owned(), hint));
                };
                let mut target = json!({"kind": "telegram", "chat_id": address, "bot_token": token});
                if let Some(api) = self.api {
                    target["url"] = api.into();
                }
                target
            }
        })
    }
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.configuring_client(Realm::Everything)?;
    let owner = requests::owner_for(context, &client, command.owner().cloned()).await?;
    let owner = owner.as_deref();
    match command {
        Command::Add { kind, to, which, .. } => add(context, &client, (kind, to, which, owner)).await,
        Command::List { .. } => list(context, &client, owner).await,
        Command::Show { id, .. } => {
            let reply = client.subscription(&id, owner).await?;
            context.answer(&reply, |subscription| show(context, subscription))
        }
        Command::Change { id, which, .. } => {
            let change = Value::Object(which.members());
            let reply = client.change_subscription(&id, &change, owner).await?;
            context.answer(&reply, |subscription| show(context, subscription))
        }
        Command::Rm { id, .. } => {
            context.done(&client.remove_subscription(&id, owner).await?, &format!("removed {id}"))
        }
        Command::Test { id, .. } => {
            let reply = client.test_subscription(&id, owner).await?;
            if reply.value["delivered"] != true && !context.out.is_json() {
                let why = clean(reply.value["error"].as_str().unwrap_or_default()).into_owned();
                return Err(Failure::local(format!("the sample was not accepted: {why}")));
            }
            context.done(&reply, "the sample was accepted")
        }
        Command::Dead { .. } => dead(context, &client, owner).await,
        Command::Retry { id, .. } => {
            context.done(&client.retry_notification(&id, owner).await?, &format!("{id} is sent again"))
        }
    }
}

async fn add(
    context: &Context,
    client: &Client,
    (kind, to, which, owner): (Kind, ProjectArgs, ChannelArgs, Option<&str>),
) -> Result<(), Failure> {
    let mut body = which.members();
    body.retain(|_, value| !value.is_null());
    body.insert("target".to_owned(), to.target(kind)?);
    let key = IdempotencyKey::random();
    let reply = client.make_subscription(&Value::Object(body), owner, &key).await?;
    context.answer(&reply, |created| {
        let id = created["subscription"]["subscription_id"].as_str().unwrap_or_default();
        context.out.line(&clean(id))?;
        if let Some(secret) = created["secret"].as_str() {
            context.out.note("its messages are signed with this secret, which is shown once:");
            context.out.line(&clean(secret))?;
        }
        let owner_flag = owner.map(|owner| format!(" --owner {owner}")).unwrap_or_default();
        context.out.note(&format!("try it with: plenary requests notify test {}{owner_flag}", clean(id)));
        Ok(())
    })
}

fn text(subscription: &Value, name: &str) -> String {
    clean(subscription[name].as_str().unwrap_or("-")).into_owned()
}

/// The state of a subscription in one word.
fn state(subscription: &Value) -> &'static str {
    match (subscription["gone"].as_bool(), subscription["enabled"].as_bool()) {
        (Some(true), _) => "gone",
        (_, Some(false)) => "off",
        (_, _) => "on",
    }
}

async fn list(context: &Context, client: &Client, owner: Option<&str>) -> Result<(), Failure> {
    let reply = client.subscriptions(owner).await?;
    context.answer(&reply, |list| {
        let mut table = Table::new(&["SUBSCRIPTION", "KIND", "TO", "NAME", "STATE"]);
        for one in list["subscriptions"].as_array().into_iter().flatten() {
            table.row([
                text(one, "subscription_id").as_str(),
                &text(one, "kind"),
                &text(one, "to"),
                &text(one, "name"),
                state(one),
            ]);
        }
        Ok(context.out.table(&table, "no subscriptions; create one with `plenary requests notify add`")?)
    })
}

fn show(context: &Context, subscription: &Value) -> Result<(), Failure> {
    let list = |name: &str| {
        let all = subscription[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        clean(&all.collect::<Vec<_>>().join(", ")).into_owned()
    };
    let out = context.out;
    out.line(&format!(
        "{} to {} ({})",
        text(subscription, "kind"),
        text(subscription, "to"),
        state(subscription)
    ))?;
    out.line(&format!("of {}, from urgency {} on", list("events"), text(subscription, "min_urgency")))?;
    for name in ["kinds", "agents"] {
        let values = list(name);
        if !values.is_empty() {
            out.line(&format!("only {name}: {values}"))?;
        }
    }
    if subscription["person"].is_string() {
        out.line(&format!("not what is given to others than {}", text(subscription, "person")))?;
    }
    if subscription["quiet"].is_object() {
        let quiet = &subscription["quiet"];
        let (from, to, zone) = (text(quiet, "from"), text(quiet, "to"), text(quiet, "time_zone"));
        out.line(&format!("quiet from {from} to {to} in {zone}"))?;
    }
    if let Some(minutes) = subscription["digest_minutes"].as_u64() {
        out.line(&format!("together every {}", counted(minutes, "minute")))?;
    }
    Ok(())
}

async fn dead(context: &Context, client: &Client, owner: Option<&str>) -> Result<(), Failure> {
    let reply = client.dead_notifications(owner).await?;
    context.answer(&reply, |list| {
        let mut table = Table::new(&["NOTIFICATION", "REQUEST", "SINCE", "TRIED", "WHY"]);
        for notice in list["notifications"].as_array().into_iter().flatten() {
            let since = notice["died_at"].as_u64().map(|ms| utc(TimestampMs(ms))).unwrap_or_default();
            let tried = notice["attempts"].as_u64().unwrap_or_default().to_string();
            table.row([
                text(notice, "notice_id").as_str(),
                &text(notice, "request_id"),
                &since,
                &tried,
                &text(notice, "error"),
            ]);
        }
        Ok(context
            .out
            .table(&table, "no notification was given up; those that fail are sent again for a day")?)
    })
}
