//! The operations of this room: parse, call the room, translate the reply. Checks come in the order 401, 404, 400,
//! 409.
//! Must not know: the rules of a command.

use axum::{
    Json, Router,
    extract::{
        FromRef, Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
};
use http::{Method, StatusCode};
use plenary_accounts::{Accounts, AgentKind, Caller, Principal, TokenOwner};
use plenary_edge::{Auth, JsonBody, Metrics, Operation, OperationDoc, RegistryFault};
use plenary_kernel::{AgentHandle, Class, NoticeId, OwnerName, Refusal, SubscriptionId};
use plenary_log::{Fault, Order};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    DEAD_PER_OWNER_MAX, Notify,
    delivery::{
        DEAD,
        decide::{DeliveryStep as Delivering, Outcome},
        state::{DeliveryState, Progress},
    },
    message::{Announcement, Note},
    post::no_subscription,
    refusals::{HouseRefusal, too_many_mails, too_many_tests},
    sender::AttemptResult,
    subscription::{SubscriptionStep, state::StoredSubscription},
    wire::{
        DeadList, DeadView, NewSubscription, PushKey, RequestSummary, SubscriptionChange, SubscriptionList,
        SubscriptionMade, SubscriptionView, TestResult,
    },
};

/// Why these operations are not tools for models.
const PEOPLE: &str = "people say where they are reached";
/// The errors of an invalid subscription.
const WRONG: &[&str] = &[
    "invalid_json",
    "invalid_body",
    "invalid_target",
    "invalid_name",
    "invalid_filter",
    "invalid_person",
    "invalid_quiet",
    "invalid_digest",
];

impl FromRef<Notify> for Accounts {
    fn from_ref(notify: &Notify) -> Self {
        notify.accounts().clone()
    }
}

/// The routes of the room.
///
/// # Errors
/// If the operations contradict each other.
pub(crate) fn routes(notify: Notify, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(notify))
}

/// The common part of all operations.
fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .needs_token(Auth::Owner)
        .no_tool(PEOPLE)
        .query::<OwnerQuery>()
        .errors(Class::Malformed, &["invalid_query", "invalid_owner"])
        .errors(Class::NotFound, &["not_found"])
}

/// The operations of the room.
pub fn operations() -> Vec<Operation<Notify>> {
    let of_subscription = |doc: OperationDoc| doc.path_parameter::<SubscriptionId>("id", "The subscription.");
    let list = doc("notify.list", Method::GET, "/notifications", "List where notifications go")
        .description("The subscriptions of an owner, without what is secret. The operator says whose.")
        .reply::<SubscriptionList>();
    let make = doc("notify.create", Method::POST, "/notifications", "Send notifications of requests somewhere")
        .description(
            "To a webhook (Standard Webhooks), a topic of ntfy, Slack, Telegram, a mailbox or a browser. A notification of a \
             request that waits has its one-tap link. `secret`, for checking signatures, is shown once.",
        )
        .success(StatusCode::CREATED)
        .request::<NewSubscription>()
        .reply::<SubscriptionMade>()
        .errors(Class::Malformed, WRONG)
        .errors(Class::Conflict, &["too_many_subscriptions", "no_mail"]);
    let read = of_subscription(doc("notify.read", Method::GET, "/notifications/{id}", "Show a subscription"))
        .reply::<SubscriptionView>();
    let change =
        of_subscription(doc("notify.change", Method::PATCH, "/notifications/{id}", "Change a subscription"))
            .description("What is absent stays as it is; `null` takes a name, quiet hours or a digest away.")
            .request::<SubscriptionChange>()
            .reply::<SubscriptionView>()
            .errors(Class::Malformed, WRONG)
            .errors(Class::Conflict, &["no_mail"]);
    let remove =
        of_subscription(doc("notify.remove", Method::DELETE, "/notifications/{id}", "Remove a subscription"))
            .description("What is on its way to it is not sent.")
            .success(StatusCode::NO_CONTENT);
    let test = of_subscription(doc("notify.test", Method::POST, "/notifications/{id}/test", "Send a sample"))
        .description("At once, whatever the quiet hours; the answer says what came of it.")
        .without_key()
        .reply::<TestResult>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::TooMany, &["too_many_tests"]);
    let dead =
        doc("notify.dead", Method::GET, "/notifications/dead", "List notifications that did not arrive")
            .description("Newest first; the last 200 are kept.")
            .reply::<DeadList>();
    let retry =
        doc("notify.retry", Method::POST, "/notifications/dead/{id}/retry", "Send a notification once more")
            .path_parameter::<NoticeId>("id", "The notification.")
            .description("One that did not arrive, under its own id, until it arrives or is given up again.")
            .errors(Class::Malformed, &["invalid_json"])
            .success(StatusCode::NO_CONTENT);
    let key =
        OperationDoc::new("notify.push_key", Method::GET, "/notifications/push-key", "The key for browsers")
            .needs_token(Auth::Owner)
            .no_tool(PEOPLE)
            .description(
                "`applicationServerKey` of `PushManager.subscribe`: it names this server to push services.",
            )
            .reply::<PushKey>()
            .errors(Class::NotFound, &["not_found"]);
    vec![
        list.handled_by(list_all),
        make.handled_by(create),
        key.handled_by(push_key),
        dead.handled_by(list_dead),
        retry.handled_by(revive),
        read.handled_by(show),
        change.handled_by(set),
        remove.handled_by(delete),
        test.handled_by(sample),
    ]
}

/// The owner parameter of a query.
#[derive(Debug, Deserialize, JsonSchema)]
struct OwnerQuery {
    /// For the operator: the owner.
    owner: Option<String>,
}

type OneQuery = Result<Query<OwnerQuery>, QueryRejection>;
type OnePath = Result<Path<String>, PathRejection>;

/// The owner whose subscriptions are meant; agents have none.
fn owner_of(principal: &Principal, query: OneQuery) -> Result<OwnerName, Refusal> {
    match &principal.who {
        TokenOwner::Agent(_) => Err(Refusal::not_found()),
        TokenOwner::Owner(owner) => Ok(owner.clone()),
        TokenOwner::Operator => {
            let Query(query) =
                query.map_err(|_| Refusal::malformed("invalid_query", "The query can't be read."))?;
            let owner = query.owner.as_deref().and_then(|owner| owner.parse().ok());
            owner.ok_or_else(|| Refusal::malformed("invalid_owner", "Say whose: `owner=NAME`."))
        }
    }
}

fn id_of<T: std::str::FromStr>(path: OnePath) -> Result<T, Refusal> {
    let Path(text) = path.map_err(|_| Refusal::not_found())?;
    text.parse().map_err(|_| Refusal::not_found())
}

fn view(owner: &OwnerName, stored: &StoredSubscription) -> SubscriptionView {
    let subscription = &stored.subscription;
    SubscriptionView {
        subscription_id: subscription.id.clone(),
        owner: owner.clone(),
        kind: subscription.target.kind().to_owned(),
        to: subscription.target.redacted(),
        name: subscription.name.clone(),
        events: subscription.events.clone(),
        kinds: subscription.kinds.clone(),
        agents: subscription.agents.clone(),
        person: subscription.person.clone(),
        min_urgency: subscription.min_urgency,
        quiet: subscription.quiet.clone(),
        digest_minutes: subscription.digest_minutes,
        enabled: subscription.enabled,
        gone: subscription.gone,
        created_at: stored.created_at.0,
    }
}

impl Notify {
    async fn one(&self, owner: &OwnerName, id: &SubscriptionId) -> Result<StoredSubscription, HouseRefusal> {
        let (state, _) = self.0.subscriptions.fresh(owner.as_str()).await?;
        state.all.get(id).cloned().ok_or_else(|| Refusal::not_found().into())
    }

    /// Checks that the subscription's person, if any, belongs to the owner.
    async fn check_person(
        &self,
        owner: &OwnerName,
        person: Option<&AgentHandle>,
    ) -> Result<(), HouseRefusal> {
        let Some(person) = person else { return Ok(()) };
        let account = self.accounts().fresh_agent(person).await?;
        let is_person = account.state.is_live() && account.state.kind() == AgentKind::Person;
        if is_person && person.owner() == owner.as_str() {
            return Ok(());
        }
        Err(Refusal::malformed("invalid_person", "`person` must be a person of the owner.").into())
    }

    async fn one_view(
        &self,
        owner: &OwnerName,
        id: &SubscriptionId,
    ) -> Result<SubscriptionView, HouseRefusal> {
        Ok(view(owner, &self.one(owner, id).await?))
    }

    /// A dead letter of an owner.
    async fn dead_state(&self, owner: &OwnerName, id: &NoticeId) -> Result<Option<DeliveryState>, Fault> {
        let (state, _) = self.0.deliveries.fresh(id.as_str()).await?;
        let is_own = state.subject.as_ref().is_some_and(|subject| subject.owner == *owner);
        Ok((is_own && matches!(state.progress, Progress::Dead(_))).then(|| (*state).clone()))
    }

    async fn dead_view(&self, owner: &OwnerName, id: NoticeId) -> Result<Option<DeadView>, Fault> {
        let Some(state) = self.dead_state(owner, &id).await? else { return Ok(None) };
        let (Some(subject), Progress::Dead(died)) = (state.subject, state.progress) else { return Ok(None) };
        let (subscription_id, event, request_id, title) = if subject.subscription == no_subscription() {
            (None, None, None, self.post_of(&id).await?.title)
        } else {
            let Some(first) = self.notices(&id).await?.into_iter().next() else { return Ok(None) };
            let RequestSummary { request_id, title, .. } = first.request;
            (Some(subject.subscription), Some(first.event), Some(request_id), title)
        };
        Ok(Some(DeadView {
            notice_id: id,
            subscription_id,
            items: state.items.len(),
            event,
            request_id,
            title,
            attempts: state.attempts,
            error: state.error,
            died_at: died.0,
        }))
    }
}

async fn list_all(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    query: OneQuery,
) -> Result<Json<SubscriptionList>, HouseRefusal> {
    let owner = owner_of(&principal, query)?;
    let (state, _) = notify.0.subscriptions.fresh(owner.as_str()).await?;
    let subscriptions = state.all.values().map(|stored| view(&owner, stored)).collect();
    Ok(Json(SubscriptionList { subscriptions }))
}

async fn create(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    query: OneQuery,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<SubscriptionMade>), HouseRefusal> {
    let owner = owner_of(&principal, query)?;
    let sent: NewSubscription = body.and_then(|body| body.parse())?;
    let subscription = sent.checked(&notify.0.sender)?;
    notify.check_person(&owner, subscription.person.as_ref()).await?;
    let is_webhook = subscription.target.kind() == "webhook";
    let created =
        notify.subscribe(&owner, principal.into(), SubscriptionStep::Make(Box::new(subscription))).await?;
    let subscription = notify.one_view(&owner, &created.id).await?;
    let secret = created.secret.filter(|_| is_webhook).map(|secret| secret.as_str().to_owned());
    Ok((StatusCode::CREATED, Json(SubscriptionMade { subscription, secret })))
}

async fn show(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    path: OnePath,
    query: OneQuery,
) -> Result<Json<SubscriptionView>, HouseRefusal> {
    let owner = owner_of(&principal, query)?;
    Ok(Json(notify.one_view(&owner, &id_of(path)?).await?))
}

async fn set(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    path: OnePath,
    query: OneQuery,
    JsonBody(body): JsonBody,
) -> Result<Json<SubscriptionView>, HouseRefusal> {
    let owner = owner_of(&principal, query)?;
    let id: SubscriptionId = id_of(path)?;
    // Checked before the body: a caller that does not own the subscription learns nothing else.
    notify.one(&owner, &id).await?;
    let change: SubscriptionChange = body.and_then(|body| body.parse())?;
    change.check(&notify.0.sender)?;
    notify.check_person(&owner, change.person.as_ref().and_then(Option::as_ref)).await?;
    notify
        .subscribe(&owner, principal.into(), SubscriptionStep::Change(id.clone(), Box::new(change)))
        .await?;
    Ok(Json(notify.one_view(&owner, &id).await?))
}

async fn delete(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    path: OnePath,
    query: OneQuery,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, HouseRefusal> {
    body?;
    let owner = owner_of(&principal, query)?;
    notify.subscribe(&owner, principal.into(), SubscriptionStep::Remove(id_of(path)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn sample(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    path: OnePath,
    query: OneQuery,
    JsonBody(body): JsonBody,
) -> Result<Json<TestResult>, HouseRefusal> {
    body?;
    let owner = owner_of(&principal, query)?;
    let StoredSubscription { subscription, .. } = notify.one(&owner, &id_of(path)?).await?;
    let _share = notify.0.tests.take(owner.clone(), 1).map_err(|_| too_many_tests())?;
    notify.count_mail(&owner, &subscription).map_err(|_| too_many_mails())?;
    let stamp = notify.0.deliveries.clock().stamp();
    let note = Note { at: stamp.now, announcement: Announcement::Sample };
    let sent = notify.send_note(&NoticeId::mint(&stamp, 0), &owner, &subscription, &note).await?;
    Ok(Json(match sent {
        AttemptResult::Accepted => TestResult { delivered: true, error: None },
        AttemptResult::Failed(why, _) | AttemptResult::Gone(why) => {
            TestResult { delivered: false, error: Some(why) }
        }
    }))
}

async fn list_dead(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    query: OneQuery,
) -> Result<Json<DeadList>, HouseRefusal> {
    let owner = owner_of(&principal, query)?;
    let prefix = format!("{owner}/");
    let rows = notify.log().read_index(DEAD, &prefix, None, DEAD_PER_OWNER_MAX, Order::Descending).await?;
    let mut notifications = Vec::new();
    for row in rows {
        let Some(id) = row.key.rsplit('/').next().and_then(|id| id.parse().ok()) else { continue };
        let view = notify.dead_view(&owner, id).await;
        notifications
            .extend(Fault::skip_corrupt(view, "a damaged notification is left out of a list")?.flatten());
    }
    Ok(Json(DeadList { notifications }))
}

async fn revive(
    State(notify): State<Notify>,
    Caller(principal): Caller,
    path: OnePath,
    query: OneQuery,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, HouseRefusal> {
    body?;
    let owner = owner_of(&principal, query)?;
    let id: NoticeId = id_of(path)?;
    if notify.dead_state(&owner, &id).await?.is_none() {
        return Err(Refusal::not_found().into());
    }
    match notify.deliver(&id, Delivering::Revive(principal.into())).await? {
        Outcome::Nothing => Err(Refusal::not_found().into()),
        Outcome::Done | Outcome::Begun(_) | Outcome::Closed => Ok(StatusCode::NO_CONTENT),
    }
}

async fn push_key(
    State(notify): State<Notify>,
    Caller(principal): Caller,
) -> Result<Json<PushKey>, HouseRefusal> {
    if matches!(principal.who, TokenOwner::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    Ok(Json(PushKey { public_key: notify.vapid().await?.public() }))
}
