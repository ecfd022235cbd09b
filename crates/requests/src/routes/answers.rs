//! The operations of people: answer one or many, undo, postpone, delegate.
//! Must not know: the effects of an answer.

use axum::{Json, extract::State};
use http::Method;
use plenary_accounts::{Decider, Principal};
use plenary_edge::{Auth, JsonBody, Operation};
use plenary_kernel::{AskId, Class, Refusal, TimestampMs, Version};

use super::{OnePath, PEOPLE, People, current_view, doc, of_people, refusal_for, request_id};
use crate::{
    BATCH_MAX, Requests,
    command::{AnswerRequest, AnsweredBy, HandleRequest, Handling},
    refusals::RequestRefusal,
    request::check_form,
    request_view::RequestReading,
    wire::{Batch, BatchError, BatchResult, BatchResults, Delegate, NewAnswer, RequestView, Snooze},
};

pub(super) fn operations() -> Vec<Operation<Requests>> {
    let doc_for = |id, path, summary| {
        doc(id, Method::POST, path, summary)
            .needs_token(Auth::Owner)
            .no_tool(PEOPLE)
            .path_parameter::<AskId>("id", "The request.")
            .reply::<RequestView>()
            .errors(Class::NotFound, &["not_found"])
    };
    const ENDED: &[&str] = &["already_answered", "request_withdrawn", "request_expired"];
    let answer_doc = doc_for("request.answer", "/requests/{id}/answer", "Answer a request")
        .description(
            "The first answer counts; later ones are refused with 409 `already_answered` and `answer`. With \
             `undo_seconds` the answer can be undone for that time, and the agent gets it afterwards. With `rule`, \
             later requests of this kind are answered in the same way.",
        )
        .request::<NewAnswer>()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_answer"])
        .errors(Class::Malformed, &["invalid_undo_seconds", "invalid_rule"])
        .errors(Class::TooLarge, &["answer_too_large"])
        .errors(Class::Conflict, ENDED)
        .errors(Class::Conflict, &["stale_version", "answer_not_allowed", "too_many_rules"]);
    let batch_doc = doc("request.answer_many", Method::POST, "/requests/answers", "Answer many requests")
        .needs_token(Auth::Owner)
        .no_tool(PEOPLE)
        .description(
            "Each answer is handled separately, in this order; a refused one does not affect the others. A \
                 value out of bounds in any of them refuses the whole batch, and nothing is answered.",
        )
        .request::<Batch>()
        .reply::<BatchResults>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_answers"])
        .errors(Class::Malformed, &["invalid_undo_seconds", "invalid_rule"])
        .errors(Class::NotFound, &["not_found"]);
    let undo_doc = doc_for("request.undo", "/requests/{id}/undo", "Undo an answer")
        .description("Possible until the agent has received the answer.")
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::Conflict, &["too_late", "not_answered", "request_withdrawn", "request_expired"])
        .errors(Class::Conflict, &["too_many_changes"]);
    let snooze_doc = doc_for("request.snooze", "/requests/{id}/snooze", "Postpone a request")
        .description("Its deadline does not change.")
        .request::<Snooze>()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_until"])
        .errors(Class::Conflict, ENDED)
        .errors(Class::Conflict, &["too_many_changes"]);
    let delegate_doc =
        doc_for("request.delegate", "/requests/{id}/delegate", "Delegate a request to a person")
            .description(
                "The person must belong to the same owner. The owner's other people may still answer.",
            )
            .request::<Delegate>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "unknown_person"])
            .errors(Class::Conflict, ENDED)
            .errors(Class::Conflict, &["too_many_changes"]);
    vec![
        answer_doc.handled_by(answer),
        batch_doc.handled_by(answer_many),
        undo_doc.handled_by(undo),
        snooze_doc.handled_by(snooze),
        delegate_doc.handled_by(delegate),
    ]
}

async fn record_answer(
    requests: &Requests,
    Decider { principal, person }: &Decider,
    RequestReading { view, .. }: &RequestReading,
    new_answer: &NewAnswer,
) -> Result<RequestView, RequestRefusal> {
    let (answer, undo_ms, rule) = new_answer.check()?;
    check_form(view, new_answer.answer, new_answer.args.as_ref())?;
    let id = &view.request_id;
    let by = AnsweredBy::Person(principal.clone().into(), person.clone());
    let version = Some(Version(new_answer.version));
    match requests.answer(id, AnswerRequest { by, answer, version, undo_ms, rule }).await {
        Ok(()) => current_view(requests, principal, id).await,
        Err(error) => Err(refusal_for(requests, &principal.who, id, error).await),
    }
}

async fn answer(
    State(requests): State<Requests>,
    People(decider): People,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<RequestView>, RequestRefusal> {
    let body = body?;
    let id = request_id(path)?;
    let reading = of_people(&requests, &decider.principal, &id).await?;
    let new_answer: NewAnswer = body.parse()?;
    Ok(Json(record_answer(&requests, &decider, &reading, &new_answer).await?))
}

async fn answer_many(
    State(requests): State<Requests>,
    People(decider): People,
    JsonBody(body): JsonBody,
) -> Result<Json<BatchResults>, RequestRefusal> {
    let body = body?;
    if matches!(decider.principal.who, plenary_accounts::TokenOwner::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    let batch: Batch = body.parse()?;
    if !(1..=BATCH_MAX).contains(&batch.answers.len()) {
        let text = format!("`answers` must have 1 to {BATCH_MAX} members.");
        return Err(Refusal::malformed("invalid_answers", text).into());
    }
    for item in &batch.answers {
        item.answer.check_bounds()?;
    }
    let mut results = Vec::with_capacity(batch.answers.len());
    for item in batch.answers {
        let outcome = async {
            let id = crate::request::id(&item.request_id)?;
            let reading = of_people(&requests, &decider.principal, &id).await?;
            record_answer(&requests, &decider, &reading, &item.answer).await
        };
        let (request, error) = match outcome.await {
            Ok(view) => (Some(view), None),
            Err(refusal) => {
                let Refusal { code, message, .. } = refusal.refusal;
                (None, Some(BatchError { code: code.to_owned(), message: message.into_owned() }))
            }
        };
        results.push(BatchResult { request_id: item.request_id, request, error });
    }
    Ok(Json(BatchResults { results }))
}

async fn apply_handling(
    requests: &Requests,
    principal: &Principal,
    id: &AskId,
    handling: Handling,
) -> Result<Json<RequestView>, RequestRefusal> {
    let command = HandleRequest { authority: principal.clone().into(), handling };
    match requests.handle(id, command).await {
        Ok(_) => Ok(Json(current_view(requests, principal, id).await?)),
        Err(error) => Err(refusal_for(requests, &principal.who, id, error).await),
    }
}

async fn undo(
    State(requests): State<Requests>,
    People(Decider { principal, .. }): People,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<RequestView>, RequestRefusal> {
    body?;
    let id = request_id(path)?;
    of_people(&requests, &principal, &id).await?;
    apply_handling(&requests, &principal, &id, Handling::Undo).await
}

async fn snooze(
    State(requests): State<Requests>,
    People(Decider { principal, .. }): People,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<RequestView>, RequestRefusal> {
    let body = body?;
    let id = request_id(path)?;
    of_people(&requests, &principal, &id).await?;
    let Snooze { until } = body.parse()?;
    apply_handling(&requests, &principal, &id, Handling::Snooze(TimestampMs(until))).await
}

async fn delegate(
    State(requests): State<Requests>,
    People(Decider { principal, .. }): People,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<RequestView>, RequestRefusal> {
    let body = body?;
    let id = request_id(path)?;
    of_people(&requests, &principal, &id).await?;
    let Delegate { to } = body.parse()?;
    apply_handling(&requests, &principal, &id, Handling::Delegate(to)).await
}
