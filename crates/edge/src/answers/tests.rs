//! The order of waiting requests, and when budget is returned.

use axum::body::Body;
use futures_util::FutureExt as _;

use super::*;

const MIB: usize = 1 << 20;

fn budget() -> Arc<AnswerBudget> {
    let config =
        Config { answer_bytes_max: 10 * MIB, answer_bytes_per_payer_max: 6 * MIB, ..Config::default() };
    AnswerBudget::new(&config)
}

fn open_allowance(budget: &Arc<AnswerBudget>) -> Allowance {
    let allowance = Allowance::new(budget.clone());
    allowance.begin(None);
    allowance.expects(4 * MIB);
    allowance
}

fn admitted(allowance: &Allowance, owner: &str) -> Option<bool> {
    allowance.admit(BudgetCaller::Owner(owner)).now_or_never().map(|outcome| outcome.is_ok())
}

#[tokio::test]
async fn a_request_waits_for_the_share_of_its_owner_and_others_do_not() {
    let budget = budget();
    let (first, second, other) = (open_allowance(&budget), open_allowance(&budget), open_allowance(&budget));
    assert_eq!(admitted(&first, "a"), Some(true));
    assert_eq!(admitted(&second, "a"), None, "it waits");
    assert_eq!(admitted(&other, "b"), Some(true));
    let waits = tokio::spawn({
        let second = second.clone();
        async move { second.admit(BudgetCaller::Owner("a")).await.is_ok() }
    });
    while budget.waiters.load(Ordering::Acquire) == 0 {
        tokio::task::yield_now().await;
    }
    let mut small = Response::new(Body::from("small"));
    assert!(first.settle(&mut small).is_none(), "a small answer holds nothing");
    assert!(waits.await.unwrap());
    assert_eq!(budget.shares.used(), 8 * MIB);
}

#[test]
fn what_a_request_has_reserved_covers_its_inner_requests() {
    let budget = budget();
    let allowance = open_allowance(&budget);
    assert_eq!(admitted(&allowance, "a"), Some(true));
    for inner in [allowance.within(), allowance.within().within()] {
        inner.expects(4 * MIB);
        assert_eq!(admitted(&inner, "a"), Some(true));
    }
    assert_eq!(budget.shares.used(), 4 * MIB, "otherwise requests would wait for each other");
    allowance.release();
    assert_eq!(budget.shares.used(), 0, "it holds nothing while it waits");
    let inner = allowance.within();
    inner.expects(4 * MIB);
    assert_eq!(admitted(&inner, "a"), Some(true));
    assert_eq!(budget.shares.used(), 4 * MIB, "what is read then is reserved for itself");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_an_inner_request_says_when_to_try_again() {
    let budget = budget();
    let _held = {
        let held = open_allowance(&budget);
        assert_eq!(admitted(&held, "a"), Some(true));
        held
    };
    let allowance = Allowance::new(budget.clone());
    let inner = allowance.within();
    inner.expects(4 * MIB);
    assert!(inner.admit(BudgetCaller::Owner("a")).await.is_err());
    allowance.note_refusal_of(&inner);
    let mut refused = Response::new(Body::empty());
    *refused.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    allowance.settle(&mut refused);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    allowance.note_refusal_of(&inner);
    let mut answered = Response::new(Body::empty());
    allowance.settle(&mut answered);
    assert!(answered.headers().get(header::RETRY_AFTER).is_none(), "it was answered all the same");
}

#[test]
fn a_large_answer_holds_its_budget_until_its_last_byte_is_written() {
    let budget = budget();
    let allowance = open_allowance(&budget);
    assert_eq!(admitted(&allowance, "a"), Some(true));
    let mut page = Response::new(Body::from(vec![0; MIB]));
    let share = allowance.settle(&mut page);
    assert_eq!(budget.shares.used(), MIB, "what was reserved and is not needed is free");
    let mut piece = allowance.piece(Bytes::from(vec![0; MIB]), share.as_ref()).unwrap();
    drop(share);
    let rest = piece.split_off(MIB - 1);
    drop(piece);
    assert_eq!(budget.shares.used(), MIB, "one byte keeps the rest in memory");
    drop(rest);
    assert_eq!(budget.shares.used(), 0);
}

#[test]
fn a_reservation_is_released_when_the_connection_closes() {
    let budget = budget();
    let allowance = open_allowance(&budget);
    assert_eq!(admitted(&allowance, "a"), Some(true));
    drop(allowance);
    assert_eq!(budget.shares.used(), 0);
}

#[test]
fn past_the_budget_an_answer_becomes_a_refusal_and_a_piece_is_not_given() {
    let budget = budget();
    let allowance = Allowance::new(budget);
    let mut first = Response::new(Body::from(vec![0; 5 * MIB]));
    let _held = allowance.settle(&mut first).unwrap();
    let mut second = Response::new(Body::from(vec![0; 5 * MIB]));
    assert!(allowance.settle(&mut second).is_none());
    assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(allowance.piece(Bytes::from(vec![0; 2 * MIB]), None).is_none());
    let mut shared = crate::error::shared_answer("text/plain", vec![0; 8 * MIB].into());
    assert!(allowance.settle(&mut shared).is_none() && shared.status().is_success());
}

#[tokio::test]
async fn without_a_token_an_address_has_a_share() {
    let budget = budget();
    let address = |text: &str| {
        let allowance = open_allowance(&budget);
        allowance.begin(text.parse().ok());
        allowance.expects(4 * MIB);
        let is_admitted = allowance.admit(BudgetCaller::Nobody).now_or_never().map(|outcome| outcome.is_ok());
        (allowance, is_admitted)
    };
    let (_first, admitted) = address("192.0.2.1");
    assert_eq!(admitted, Some(true));
    assert_eq!(address("192.0.2.1").1, None);
    assert_eq!(address("192.0.2.2").1, Some(true));
}
