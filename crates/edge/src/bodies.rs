//! The memory of bodies that arrive: a budget for callers that are known and a smaller one for all others, each with a share for
//! each payer. A small body is never counted.
//! Must not know: the content of bodies.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use http::request::Parts;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use plenary_kernel::{Class, Refusal, Share, Shares, SharesFull};

use crate::{
    answers::{Allowance, Payer},
    config::{BODY_STEP_BYTES, Config, SMALL_BODY_BYTES_MAX},
};

/// The budgets of the process.
pub(crate) struct BodyBudget {
    known: Shares<Payer>,
    unknown: Shares<Payer>,
}

impl BodyBudget {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            known: Shares::new(config.body_bytes_max, config.body_bytes_per_payer_max),
            unknown: Shares::new(config.unknown_body_bytes_max, config.unknown_body_bytes_per_address_max),
        }
    }

    pub(crate) fn take(&self, payer: Payer, amount: usize) -> Result<Share<Payer>, SharesFull> {
        let is_known = matches!(payer, Payer::Owner(_) | Payer::Operator);
        if is_known { self.known.take(payer, amount) } else { self.unknown.take(payer, amount) }
    }
}

/// The part of the budget that one body holds while it arrives.
#[derive(Debug, Default)]
pub(crate) struct BodyShare {
    share: Option<Share<Payer>>,
    amount: usize,
}

impl BodyShare {
    /// Counts a body of which this many bytes are in memory.
    ///
    /// # Errors
    /// 429 or 503 `overloaded` if the budget has no space for them.
    pub(crate) fn count(&mut self, bytes: usize, allowance: Option<&Allowance>) -> Result<(), Refusal> {
        if bytes <= SMALL_BODY_BYTES_MAX {
            *self = Self::default();
            return Ok(());
        }
        let amount = bytes.next_multiple_of(BODY_STEP_BYTES);
        if amount == self.amount {
            return Ok(());
        }
        let Some(allowance) = allowance else { return Ok(()) };
        let counted = match &mut self.share {
            Some(share) if amount < self.amount => {
                share.shrink(amount);
                Ok(())
            }
            Some(share) => share.grow(amount),
            None => allowance.take_body(amount).map(|share| self.share = Some(share)),
        };
        counted.map_err(|full| allowance.overload(refusal(full)))?;
        self.amount = amount;
        Ok(())
    }
}

/// A body that counts as long as it exists, for readers that gather its pieces and then drop it.
pub struct CountedBody {
    body: Body,
    bytes: usize,
    share: BodyShare,
    allowance: Option<Allowance>,
}

impl CountedBody {
    /// The body of a request. [`crate::body_refusal`] reads its errors.
    pub fn new(parts: &Parts, body: Body) -> Self {
        let allowance = parts.extensions.get().cloned();
        Self { body, bytes: 0, share: BodyShare::default(), allowance }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let counted = &mut *self;
        let frame = ready!(Pin::new(&mut counted.body).poll_frame(cx));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        counted.bytes += data.map_or(0, Bytes::len);
        match counted.share.count(counted.bytes, counted.allowance.as_ref()) {
            Ok(()) => Poll::Ready(frame),
            Err(refusal) => Poll::Ready(Some(Err(axum::Error::new(refusal)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn refusal(full: SharesFull) -> Refusal {
    match full {
        SharesFull::Key => Refusal::new(
            Class::TooMany,
            "overloaded",
            "Too many bytes of your requests are under way. Finish them, then try again.",
        ),
        SharesFull::Total => Refusal::new(
            Class::Unavailable,
            "overloaded",
            "The server has no memory for a large request now. Try again in a moment.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{AnswerBudget, BudgetCaller};

    const STEP: usize = BODY_STEP_BYTES;

    /// Two steps for a payer and three for all, and the same for callers that are not known.
    fn requests() -> impl Fn(Option<&'static str>) -> Allowance {
        let config = Config {
            body_bytes_max: 3 * STEP,
            body_bytes_per_payer_max: 2 * STEP,
            unknown_body_bytes_max: 3 * STEP,
            unknown_body_bytes_per_address_max: 2 * STEP,
            ..Config::default()
        };
        let budget = AnswerBudget::new(&config);
        move |owner| {
            let allowance = Allowance::new(budget.clone());
            allowance.begin(None);
            if let Some(owner) = owner {
                let admitted = allowance.admit(BudgetCaller::Owner(owner));
                futures_util::FutureExt::now_or_never(admitted).unwrap().unwrap();
            }
            allowance
        }
    }

    fn count(share: &mut BodyShare, bytes: usize, allowance: &Allowance) -> u16 {
        share.count(bytes, Some(allowance)).map_or_else(|refusal| refusal.class.status(), |()| 200)
    }

    #[test]
    fn one_payer_leaves_room_for_others_and_a_small_body_needs_none() {
        let request = requests();
        let (ann, bob, stranger) = (request(Some("ann")), request(Some("bob")), request(None));
        let mut held = [BodyShare::default(), BodyShare::default(), BodyShare::default()];
        assert_eq!(count(&mut held[0], STEP + 1, &ann), 200);
        assert_eq!(count(&mut held[1], STEP, &ann), 429);
        assert_eq!(count(&mut held[1], SMALL_BODY_BYTES_MAX, &ann), 200);
        assert_eq!(count(&mut held[1], STEP, &bob), 200);
        assert_eq!(count(&mut held[2], STEP, &request(Some("cid"))), 503);
        assert_eq!(count(&mut held[2], 2 * STEP, &stranger), 200, "strangers have a budget of their own");
        // What a body no longer needs is free at once.
        assert_eq!(count(&mut held[0], 10, &ann), 200);
        assert_eq!(count(&mut held[1], 2 * STEP, &bob), 200);
        assert_eq!(count(&mut held[1], 3 * STEP, &bob), 429);
        drop(held);
        assert_eq!(count(&mut BodyShare::default(), 2 * STEP, &ann), 200);
    }

    #[test]
    fn the_payer_of_an_earlier_request_pays_for_no_stranger() {
        let request = requests();
        let ann = request(Some("ann"));
        let mut held = BodyShare::default();
        assert_eq!(count(&mut held, 2 * STEP, &ann), 200);
        assert_eq!(count(&mut BodyShare::default(), STEP, &ann), 429);
        ann.begin(None);
        assert_eq!(count(&mut BodyShare::default(), STEP, &ann), 200);
    }
}
