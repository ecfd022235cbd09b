//! `plenary ask` and `plenary requests`: questions of agents to people, and their answers.
//! Must not know: the effect of an answer.

mod arguments;
mod callers;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use plenary_client::{Client, Error, IdempotencyKey, requests::RequestsQuery};
use plenary_kernel::{
    AgentHandle, AskId, OwnerName, RuleId, TimestampMs,
    form::{Form, FormSchema},
    request_texts::{describe_request, effects},
};
use serde_json::{Value, json};

use super::{
    context::Context,
    everyday,
    failure::{Exit, Failure},
    input,
};
use crate::{
    duration::parse_duration,
    out::{Table, clean, span, utc},
};
pub(super) use arguments::argument_lines;
use callers::{anybody, people};
pub(super) use callers::{decider, owner_for};

/// The default wait for an answer.
const WAIT: &str = "10m";
/// The longest time for which the server sets a deadline or postpones a request: 30 days.
const AHEAD_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The kinds of requests.
pub(super) const KINDS: [&str; 7] =
    ["permission", "question", "run_input", "review", "contact", "invitation", "hold"];
/// The default lifetime of a rule, in days.
const RULE_DAYS: u64 = 7;

const HELP: &str = "\
A person of your own owner gets a request with the other options; an agent, or a person of another owner, gets a message.
Exit code 5: no answer arrived in time.
  plenary ask @nick \"Which schema holds?\" --choice v1 --choice v2
  plenary ask @nick.claude-parser \"Does the parser take tabs?\" --wait 120";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RequestArgs {
    /// A person, `@OWNER` or `@OWNER.NAME`, or an agent, `@OWNER.NAME`
    #[arg(value_name = "@OWNER", value_parser = person)]
    to: String,
    /// The question; for a person, in one line
    #[arg(value_name = "TEXT")]
    title: String,
    /// A choice for the answer; may be repeated
    #[arg(long = "choice", value_name = "CHOICES")]
    choices: Vec<String>,
    /// Further text for the person who answers
    #[arg(long, value_name = "TEXT")]
    detail: Option<String>,
    /// Kind of request
    #[arg(long, value_parser = ["question", "permission", "hold"], default_value = "question")]
    kind: String,
    /// How long to wait for the answer, e.g. 90s or 5m; 0 does not wait
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = WAIT)]
    wait: Duration,
    /// Time after which the request expires, e.g. 2h, at most 30d
    #[arg(long, value_name = "TIME", value_parser = ahead)]
    deadline: Option<Duration>,
    /// Answer that counts when the request expires
    #[arg(long, value_parser = ["accept", "ignore", "none"], default_value = "none")]
    on_timeout: String,
}

/// Without a command, lists the waiting requests, oldest first.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Requests {
    #[command(subcommand)]
    command: Option<Command>,
    /// Show waiting requests in the terminal, live, and answer them with keys
    #[arg(long)]
    tui: bool,
}

/// The state of a request.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    /// The request waits for an answer
    Open,
    /// The request is postponed
    Snoozed,
    /// The request was answered
    Answered,
    /// The agent withdrew the request
    Withdrawn,
    /// The deadline of the request passed
    Expired,
}

/// The kind of an answer.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AnswerKind {
    /// Allow it as asked
    Accept,
    /// Allow it with other arguments (--args)
    Edit,
    /// Answer with a text (--text)
    Respond,
    /// Decline it
    Ignore,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List requests, oldest first
    List {
        /// State of the requests: open, snoozed, answered, withdrawn or expired
        #[arg(long, default_value = "open")]
        state: State,
        /// Only requests of this kind
        #[arg(long, value_parser = KINDS)]
        kind: Option<String>,
        /// Only requests of this agent
        #[arg(long)]
        agent: Option<AgentHandle>,
        /// Only requests that are given to this person, @OWNER or @OWNER.NAME
        #[arg(long, value_name = "PERSON", value_parser = AgentHandle::of_recipient)]
        to: Option<AgentHandle>,
        /// For the operator: only requests to this owner
        #[arg(long)]
        owner: Option<OwnerName>,
    },
    /// Show a request in full
    Show {
        /// ID of the request, see `plenary requests list`
        id: AskId,
        /// How long to wait for its answer, e.g. 90s or 5m
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        wait: Option<Duration>,
    },
    /// Answer a request
    #[command(
        after_help = "Example:\n  plenary requests answer ask_01HZY3V8Q3N8X0T5W6R7S8D9EF accept --text 'after the backup'"
    )]
    Answer {
        /// ID of the request, see `plenary requests list`
        id: AskId,
        /// Type of the answer
        #[arg(value_name = "TYPE")]
        how: AnswerKind,
        /// Text of `respond`, or a note
        #[arg(long)]
        text: Option<String>,
        /// Arguments of `edit`, as JSON
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
        /// Version of the request that the answer is for [default: the current version]
        #[arg(long)]
        version: Option<u64>,
        /// Seconds during which the answer can be undone, at most 60; the agent gets it after them
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=60))]
        undo_seconds: Option<u64>,
        /// Also create a rule that answers this agent's requests for this tool in the same way
        #[arg(long = "rule")]
        rule: bool,
        /// Days for which the rule applies
        #[arg(long, value_name = "N", default_value_t = RULE_DAYS, requires = "rule",
            value_parser = clap::value_parser!(u64).range(1..=365))]
        rule_days: u64,
        /// Limit the rule to this directory and those below it
        #[arg(long, value_name = "PATH", requires = "rule")]
        rule_directory: Option<String>,
    },
    /// Undo an answer that the agent has not received yet
    Undo {
        /// ID of the request, see `plenary requests list`
        id: AskId,
    },
    /// Postpone a request
    Snooze {
        /// ID of the request, see `plenary requests list`
        id: AskId,
        /// How long the request is postponed, e.g. 30m or 2h, at most 30d
        #[arg(value_name = "UNTIL", value_parser = ahead)]
        time: Duration,
    },
    /// Delegate a request to another person of the owner
    Delegate {
        /// ID of the request, see `plenary requests list`
        id: AskId,
        /// The person, `@OWNER` or `@OWNER.NAME`
        #[arg(value_parser = AgentHandle::of_recipient)]
        to: AgentHandle,
    },
    /// Create and print a link that answers the request without signing in
    Link {
        /// ID of the request, see `plenary requests list`
        id: AskId,
    },
    /// Withdraw a request of the agent
    Withdraw {
        /// ID of the request, see `plenary requests list`
        id: AskId,
    },
    /// List the rules that answer requests automatically
    Rules {
        /// For the operator: the owner of the rules [default: the only owner]
        #[arg(long)]
        owner: Option<OwnerName>,
    },
    /// Notifications of waiting requests: to a phone, a chat, a mailbox, a program
    #[command(subcommand)]
    Notify(super::notify::Command),
    /// Remove a rule
    RmRule {
        /// ID of the rule, see `plenary requests rules`
        id: RuleId,
        /// For the operator: the owner of the rules [default: the only owner]
        #[arg(long)]
        owner: Option<OwnerName>,
    },
}

/// `@owner` or `@owner.name`.
fn person(text: &str) -> Result<String, String> {
    let owner = text.strip_prefix('@').unwrap_or_default();
    if owner.parse::<OwnerName>().is_ok() || text.parse::<AgentHandle>().is_ok() {
        Ok(text.to_owned())
    } else {
        Err("must be @OWNER or @OWNER.NAME".to_owned())
    }
}

/// A time from now that the server accepts.
fn ahead(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time.is_zero() || time > AHEAD_MAX {
        return Err("must be more than 0 and at most 30d".to_owned());
    }
    Ok(time)
}

/// The end of a time from now, in milliseconds since 1970.
async fn in_ms(client: &Client, time: Duration) -> u64 {
    client.server_now().await.0.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl RequestArgs {
    /// Whether it has arguments that only a request to a person has.
    fn has_request_options(&self) -> bool {
        let is_plain = self.choices.is_empty() && self.detail.is_none() && self.deadline.is_none();
        !(is_plain && self.kind == "question" && self.on_timeout == "none")
    }
}

/// Whether a handle within the caller's reach is an agent, and not a person.
async fn is_agent(client: &Client, to: &AgentHandle) -> Result<bool, Failure> {
    let page = client.who(Some(to.as_str()), Some(to.owner()), None, None).await?.value;
    Ok(page.agents.iter().any(|known| known.handle == *to && known.kind == "agent"))
}

/// Sends the question, and prints the answer.
pub(crate) async fn ask(context: &Context, args: RequestArgs) -> Result<(), Failure> {
    let client = context.speaker()?;
    if let Ok(to) = args.to.parse::<AgentHandle>()
        && is_agent(&client, &to).await?
    {
        if args.has_request_options() {
            let what = format!("{to} is an agent: it gets a message, and no request");
            return Err(Failure::usage(
                what,
                "leave out --choice, --detail, --kind, --deadline and --on-timeout",
            ));
        }
        return everyday::ask(context, &client, &to, &args.title, args.wait).await;
    }
    let mut body = json!({"kind": args.kind, "title": args.title, "on_timeout": args.on_timeout});
    // An owner's name stands for its default person.
    body["to"] = match args.to.strip_prefix('@').filter(|owner| !owner.contains('.')) {
        Some(owner) => format!("@{owner}.{owner}").into(),
        None => args.to.clone().into(),
    };
    if !args.choices.is_empty() {
        body["choices"] = args.choices.into();
    }
    if let Some(text) = args.detail {
        body["detail"] = json!({"text": text});
    }
    if let Some(time) = args.deadline {
        body["deadline_at"] = in_ms(&client, time).await.into();
    }
    if !args.wait.is_zero() {
        body["inbox"] = false.into();
    }
    let created = match client.make_request(&body, &IdempotencyKey::random()).await {
        // The name is not a person of this owner.
        Err(Error::Refused(refused)) if refused.code == "unknown_person" => {
            let to = AgentHandle::of_recipient(&args.to).map_err(|_| Error::Refused(refused))?;
            return everyday::ask(context, &client, &to, &args.title, args.wait).await;
        }
        created => created?,
    };
    let id = id_of(&created.value)?;
    if args.wait.is_zero() {
        return context.done(&created, id.as_str());
    }
    context.out.note(&format!("asked {}, as {id}", clean(&args.to)));
    let reply = client.wait_request(&id, args.wait).await?;
    context.answer(&reply, |request| answer_line(context, request))?;
    if reply.value["answer"].is_null() {
        if !matches!(reply.value["state"].as_str(), Some("expired" | "withdrawn")) {
            context.out.note(&format!("read a later answer with `plenary requests show {id} --wait 60`"));
        }
        return Err(Failure::Reported(Exit::Unanswered));
    }
    Ok(())
}

fn id_of(request: &Value) -> Result<AskId, Failure> {
    let id = request["request_id"].as_str().and_then(|id| id.parse().ok());
    id.ok_or_else(|| Failure::local("the server's reply has no request id"))
}

fn answer_line(context: &Context, request: &Value) -> Result<(), Failure> {
    let answer = &request["answer"];
    match (answer["type"].as_str(), answer["text"].as_str()) {
        (Some("respond"), Some(text)) => Ok(context.out.line(&clean(text))?),
        (Some(how), Some(text)) => Ok(context.out.line(&format!("{how}: {}", clean(text)))?),
        (Some(how), None) => Ok(context.out.line(how)?),
        (None, _) => {
            let state = request["state"].as_str().unwrap_or("open");
            context.out.note(&format!("no answer: the request is {}", clean(state)));
            Ok(())
        }
    }
}

/// Prints the waiting requests.
pub(crate) async fn list_open(context: &Context) -> Result<(), Failure> {
    let client = people(context)?;
    list(context, &client, &RequestsQuery::default()).await
}

pub(crate) async fn run(context: &Context, args: Requests) -> Result<(), Failure> {
    let Some(command) = args.command else {
        return if args.tui { super::tui::run(context).await } else { list_open(context).await };
    };
    match command {
        Command::List { state, kind, agent, to, owner } => {
            let state = state.to_possible_value().map(|state| state.get_name().to_owned());
            let (owner, to) = (owner.map(|owner| owner.to_string()), to.map(|to| to.to_string()));
            let agent = agent.map(|agent| agent.to_string());
            let client = anybody(context)?;
            list(context, &client, &RequestsQuery { state, kind, agent, to, owner }).await
        }
        Command::Show { id, wait } => {
            let client = anybody(context)?;
            let reply = match wait {
                Some(time) => client.wait_request(&id, time).await?,
                None => client.request(&id, None).await?,
            };
            context.answer(&reply, |request| show(context, request, form_of(reply.json())))
        }
        Command::Withdraw { id } => {
            context.done(&context.agent_client()?.withdraw_request(&id).await?, &format!("withdrew {id}"))
        }
        Command::Rules { owner } => rules(context, owner).await,
        Command::Notify(command) => super::notify::run(context, command).await,
        Command::RmRule { id, owner } => {
            let client = people(context)?;
            let owner = owner_for(context, &client, owner).await?;
            context.done(&client.remove_request_rule(&id, owner.as_deref()).await?, &format!("removed {id}"))
        }
        Command::Link { id } => {
            let reply = people(context)?.link_request(&id).await?;
            context.answer(&reply, |link| Ok(context.out.line(link["url"].as_str().unwrap_or_default())?))
        }
        Command::Undo { id } => {
            context.done(&decider(context).await?.undo_request(&id).await?, &format!("{id} waits again"))
        }
        Command::Snooze { id, time } => {
            let client = people(context)?;
            let until = in_ms(&client, time).await;
            let reply = client.snooze_request(&id, until).await?;
            let until = utc(TimestampMs(until));
            context.done(&reply, &format!("{id} is postponed until {until}"))
        }
        Command::Delegate { id, to } => context.done(
            &decider(context).await?.delegate_request(&id, to.as_str()).await?,
            &format!("{id} is delegated to {to}"),
        ),
        command @ Command::Answer { .. } => answer(context, command).await,
    }
}

async fn answer(context: &Context, command: Command) -> Result<(), Failure> {
    let Command::Answer { id, how, text, args, version, undo_seconds, rule, rule_days, rule_directory } =
        command
    else {
        return Ok(());
    };
    let client = people(context)?;
    let how = how.to_possible_value().map(|how| how.get_name().to_owned()).unwrap_or_default();
    let request = client.request(&id, None).await?.value;
    if rule && !request["action"]["name"].is_string() {
        return Err(Failure::usage(
            "a rule answers requests for a tool, and this request is for none",
            "answer it without --rule",
        ));
    }
    let version = version.or(request["version"].as_u64());
    let mut body = json!({"type": how, "version": version});
    if let Some(args) = args {
        let args = input::object(&args).map_err(|error| {
            Failure::usage(format!("--args cannot be read: {error}"), "e.g. --args '{\"command\": \"ls\"}'")
        })?;
        body["args"] = args.into();
    }
    if let Some(text) = text {
        body["text"] = text.into();
    }
    if let Some(seconds) = undo_seconds {
        body["undo_seconds"] = seconds.into();
    }
    if rule {
        let mut new_rule = json!({"agent": request["from"], "tool": request["action"]["name"], "expires_in_days": rule_days});
        if let Some(directory) = rule_directory {
            new_rule["directory"] = directory.into();
        }
        body["rule"] = new_rule;
    }
    let reply = match decider(context).await?.answer_request(&id, &body).await {
        Err(error) => return Err(too_late(&client, &id, error).await),
        Ok(reply) => reply,
    };
    context.done(&reply, &format!("answered {id}: {how}"))
}

/// A refused answer; if another one came first, with that one.
async fn too_late(client: &Client, id: &AskId, error: Error) -> Failure {
    if !matches!(&error, Error::Refused(refused) if refused.code == "already_answered") {
        return error.into();
    }
    let Ok(request) = client.request(id, None).await else { return error.into() };
    let answer = &request.value["answer"];
    let answerer = answer["person"].as_str().or(answer["by"].as_str()).unwrap_or_default();
    let text = answer["text"].as_str().map(|text| format!(" {text:?}")).unwrap_or_default();
    let how = answer["type"].as_str().unwrap_or_default();
    let next =
        format!("{answerer} answered it first: {how}{text}; `plenary requests show {id}` shows all of it");
    Failure::Refused { error, next: clean(&next).into_owned() }
}

/// The remaining time of a request with a deadline.
pub(crate) fn deadline(request: &Value, now: TimestampMs) -> Option<String> {
    let remaining = request["deadline_at"].as_u64()?.saturating_sub(now.0);
    Some(if remaining == 0 { "over".to_owned() } else { format!("in {}", span(remaining)) })
}

async fn list(context: &Context, client: &Client, query: &RequestsQuery) -> Result<(), Failure> {
    let mut table = Table::new(&["REQUEST", "KIND", "FROM", "SINCE", "DEADLINE", "TITLE"]);
    let take = |page: &Value| {
        let now = client.now();
        for request in page["requests"].as_array().into_iter().flatten() {
            let text = |name: &str| clean(request[name].as_str().unwrap_or_default()).into_owned();
            let since =
                request["created_at"].as_u64().map(|created_at| span(now.0.saturating_sub(created_at)));
            table.row([
                text("request_id").as_str(),
                &text("kind"),
                &text("from"),
                &since.unwrap_or_default(),
                &deadline(request, now).unwrap_or_else(|| "-".to_owned()),
                &text("title"),
            ]);
        }
    };
    let ask = async |cursor: Option<&str>| client.requests(query, cursor).await;
    context.pages(ask, |page| page["next_cursor"].as_str(), take).await?;
    context.table(&table, "there are no requests")
}

/// The form of a request. A `Value` would not keep the order of its fields.
fn form_of(request: &str) -> Option<Form> {
    #[derive(serde::Deserialize)]
    struct FormOfRequest {
        form: FormSchema,
    }
    serde_json::from_str::<FormOfRequest>(request).ok()?.form.read().ok()
}

/// A text from the server, cleaned.
pub(crate) fn text(value: &Value) -> String {
    clean(value.as_str().unwrap_or_default()).into_owned()
}

/// Who asks for what.
pub(crate) fn asker(request: &Value) -> String {
    describe_request(
        (&text(&request["kind"]), request["source"]["room"].as_str()),
        &text(&request["from"]),
        request["on_behalf_of"].as_str().map(clean).as_deref(),
        request["action"]["name"].as_str().map(clean).as_deref(),
    )
}

/// The effects of accepting and of ignoring it, if the server made it for another room.
pub(crate) fn effects_of(request: &Value) -> Option<[&'static str; 2]> {
    effects(&text(&request["kind"]), request["source"]["room"].as_str())
}

fn show(context: &Context, request: &Value, form: Option<Form>) -> Result<(), Failure> {
    let out = context.out;
    out.line(&format!(
        "{} ({}, {})",
        text(&request["title"]),
        text(&request["kind"]),
        text(&request["state"])
    ))?;
    out.line(&asker(request))?;
    if request["to"].is_string() {
        out.line(&format!("given to {}", text(&request["to"])))?;
    }
    if request["directory"].is_string() {
        out.line(&format!("in {}", text(&request["directory"])))?;
    }
    if request["action"].is_object() {
        out.line(&format!("tool {}", text(&request["action"]["name"])))?;
        let lines = argument_lines(&request["action"]["args"]);
        lines.iter().try_for_each(|line| out.line(&format!("  {line}")))?;
    }
    for (_, part) in request["detail"].as_object().into_iter().flatten() {
        part.as_str()
            .unwrap_or_default()
            .lines()
            .try_for_each(|line| out.line(&format!("  {}", clean(line))))?;
    }
    if request["choices"].is_array() {
        let choices = request["choices"].as_array().into_iter().flatten().map(text);
        out.line(&format!("choices: {}", choices.collect::<Vec<_>>().join(", ")))?;
    }
    if let Some(form) = form {
        let described = form.describe();
        out.line("values, given with `edit --args`:")?;
        for field in form.fields() {
            out.line(&format!("  {}: {}", clean(&field.name), text(&described[&field.name])))?;
        }
    }
    if let Some(deadline_at) = request["deadline_at"].as_u64() {
        let on_timeout = text(&request["on_timeout"]);
        out.line(&format!("deadline {}, then {on_timeout}", utc(TimestampMs(deadline_at))))?;
    }
    if let Some([accepted, ignored]) = effects_of(request) {
        out.line(&format!("accept: {accepted}; ignore: {ignored}"))?;
    }
    if request["answer"].is_object() {
        let answer = &request["answer"];
        let answerer = answer["person"].as_str().or(answer["by"].as_str()).unwrap_or_default();
        out.line(&format!("{} by {}", text(&answer["type"]), clean(answerer)))?;
        answer["text"]
            .as_str()
            .into_iter()
            .flat_map(str::lines)
            .try_for_each(|line| out.line(&clean(line)))?;
    }
    Ok(())
}

async fn rules(context: &Context, owner: Option<OwnerName>) -> Result<(), Failure> {
    let client = people(context)?;
    let owner = owner_for(context, &client, owner).await?;
    let reply = client.request_rules(owner.as_deref()).await?;
    context.answer(&reply, |list| {
        let mut table = Table::new(&["RULE", "AGENT", "TOOL", "DIRECTORY", "ANSWER", "UNTIL"]);
        for rule in list["rules"].as_array().into_iter().flatten() {
            let text = |name: &str| clean(rule[name].as_str().unwrap_or("-")).into_owned();
            let until = rule["expires_at"]
                .as_u64()
                .map(|expires_at| utc(TimestampMs(expires_at)))
                .unwrap_or_default();
            table.row([
                text("rule_id").as_str(),
                &text("agent"),
                &text("tool"),
                &text("directory"),
                &text("type"),
                &until,
            ]);
        }
        Ok(context
            .out
            .table(&table, "no rules; create one with `plenary requests answer ID accept --rule`")?)
    })
}
