//! `plenary frame query` and `answer`: a question to a set of sessions, and their answers.
//! Must not know: how a stream is kept open.

use std::time::Duration;

use clap::Args;
use plenary_client::{
    Signal, StreamOptions,
    frames::{FrameStream, Payload, Query, ReceivedFrame, Response, Scope, Subscription, Uuid},
};
use tokio::time::{Instant, timeout_at};

use super::{
    compose::{FrameArgs, answer_with, note_no_listener, reach, report, whole_ms},
    recent::recent,
    render,
    seat::Speaker,
    send::{some, text_or_stdin},
};
use crate::{
    cli::{
        context::Context,
        failure::{Exit, Failure},
        stream,
    },
    duration::parse_duration,
};

/// The default time during which answers are collected.
const WINDOW: &str = "30s";

const ASK_HELP: &str = "\
Prints each answer as it arrives. The exit code is 0 if there was an answer, and 5 if there was \
none. With --json the first line is the server's reply with `query_id`, and each further line is a frame.";

#[derive(Debug, Args)]
#[command(after_help = ASK_HELP)]
pub(crate) struct QueryArgs {
    /// The question; `-` reads it from standard input
    text: String,
    /// Time during which answers are collected
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = WINDOW)]
    timeout: Duration,
    /// Stop after this many answers [default: when the time is over]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    answers: Option<u32>,
    /// Scope to which answers are sent; it must include this session [default: only this command]
    #[arg(long, value_name = "SCOPE")]
    response_scope: Option<Scope>,
    #[command(flatten)]
    frame: FrameArgs,
}

/// Sends the answer to the scope that the question names, if the server still holds the question.
#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The id of the question, as `plenary frame listen` shows it
    #[arg(value_name = "QUERY_ID")]
    query_id: Uuid,
    /// The answer; `-` reads it from standard input
    text: String,
    /// A reference; may be repeated
    #[arg(long = "ref", value_name = "REF")]
    refs: Vec<String>,
    #[command(flatten)]
    frame: FrameArgs,
}

pub(super) async fn ask(context: &Context, args: QueryArgs) -> Result<(), Failure> {
    if args.timeout.is_zero() {
        return Err(Failure::usage("--timeout 0 leaves no time for answers", "give e.g. --timeout 30s"));
    }
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    let query_id = Uuid::random();
    let aside = speaker.aside(&format!("q{}", query_id.as_str().get(..8).unwrap_or_default()));
    let only_here = || {
        let instrument = aside.instrument.as_deref().unwrap_or_default();
        Scope::session(&speaker.handle, instrument, aside.session_id.as_deref().unwrap_or_default())
    };
    let response_scope = args.response_scope.clone().unwrap_or_else(only_here);
    let query = Query {
        query_text: text_or_stdin(args.text)?,
        query_id: query_id.clone(),
        response_scope: response_scope.to_string(),
        timeout_ms: whole_ms(args.timeout),
    };
    // Listen first: an answer may arrive before the call with the question returns.
    let filter = Some("kind:agent_response".to_owned());
    let subscription = Subscription { filter, seat: aside.clone(), ..speaker.subscription() };
    let mut frames = speaker.client.frames(subscription, StreamOptions::default());
    opened(context, &mut frames).await?;

    let payload = Payload::Query(query);
    let frame = args.frame.or_ttl(args.timeout);
    let composed = frame.compose(context, &speaker, payload.kind(), payload.to_object());
    let reply = composed.send(&speaker, &aside).await?;
    if context.out.is_json() {
        context.out.line(&answer_with(&reply, "query_id", &query_id))?;
    } else {
        let wait = args.timeout.as_secs_f32();
        let reached = reach(reply.delivered_count);
        context.out.note(&format!("asked as {query_id}; {reached}; collecting answers for {wait} s"));
        note_no_listener(context, reply.delivered_count);
    }
    let until = Instant::now() + args.timeout;
    let answers_max = args.answers.unwrap_or(u32::MAX);
    let count = collect(context, &mut frames, &query_id, until, answers_max).await?;
    if count > 0 {
        return Ok(());
    }
    context.out.note("nobody answered");
    Err(Failure::Reported(Exit::Unanswered))
}

/// Waits until the stream is open.
pub(super) async fn opened(context: &Context, frames: &mut FrameStream) -> Result<(), Failure> {
    loop {
        match frames.next().await? {
            Signal::Opened => return Ok(()),
            Signal::Lost { reason, .. } => context.out.note(&format!("not connected: {reason}")),
            Signal::Keepalive | Signal::Event(_) | Signal::Unreadable(_) => {}
        }
    }
}

/// Prints the answers to a question until a deadline or a count; returns their number.
async fn collect(
    context: &Context,
    frames: &mut FrameStream,
    query_id: &Uuid,
    until: Instant,
    answers_max: u32,
) -> Result<u32, Failure> {
    let out = context.out;
    let mut count = 0;
    while count < answers_max {
        let Ok(signal) = timeout_at(until, frames.next()).await else { break };
        match signal? {
            Signal::Event(received) => {
                if is_answer(&received, query_id) {
                    count += 1;
                    let line = render::line(out, &received);
                    stream::print(move || out.line(&line)).await?;
                }
            }
            Signal::Lost { reason, retry_in } => stream::note_lost(out, &reason, retry_in),
            Signal::Unreadable(error) => stream::note_unreadable(out, &error),
            Signal::Opened | Signal::Keepalive => {}
        }
    }
    Ok(count)
}

fn is_answer(received: &ReceivedFrame, query_id: &Uuid) -> bool {
    if let Payload::Response(response) = &received.payload { response.query_id == *query_id } else { false }
}

pub(super) async fn answer(context: &Context, args: Answer) -> Result<(), Failure> {
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    let response = Response {
        query_id: args.query_id.clone(),
        session_id: speaker.session().to_owned(),
        response_text: text_or_stdin(args.text)?,
        refs: some(args.refs),
    };
    let scope = match args.frame.scope.clone() {
        Some(scope) => scope,
        None => scope_of_question(context, &speaker, &args.query_id).await?,
    };
    let frame = args.frame.or_scope(|| scope);
    report(context, &frame.send(context, &speaker, &Payload::Response(response)).await?)
}

/// The scope that a question names for its answers (FO-94), if the server still holds the question.
async fn scope_of_question(context: &Context, speaker: &Speaker, query_id: &Uuid) -> Result<Scope, Failure> {
    for received in recent(speaker, Some("kind:agent_query")).await? {
        if let Payload::Query(query) = &received.payload
            && query.query_id == *query_id
        {
            return Ok(query.response_scope.parse()?);
        }
    }
    let own = speaker.own_sessions();
    context.out.note(&format!(
        "the server does not hold the question for {}; the answer goes to {own}; name another scope with --scope",
        speaker.handle
    ));
    Ok(own)
}
