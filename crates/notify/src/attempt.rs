//! A due notification: claimed, composed from the log, sent, and its outcome recorded. If the process ends in
//! between, the claim expires and the notification is sent again, under the same id.
//! Must not know: the schedule.

use plenary_engine::Room as _;
use plenary_kernel::{NoticeId, OwnerName, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};
use plenary_requests::Phase;

use crate::{
    DEAD_PER_OWNER_MAX, DIGEST_LINKS_MAX, Notify,
    delivery::{
        DEAD, DeliveryRoom,
        decide::{AttemptRecord, DeliveryStep, Outcome},
        event::DeliveryEvent,
    },
    hours::quiet_until,
    message::{Announcement, Item, Note},
    post::no_subscription,
    sender::{AttemptResult, Letter},
    subscription::event::Subscription,
    wire::{Event, Notice, Target},
};

impl Notify {
    /// Sends a due notification, unless another task or process does.
    pub(crate) async fn attempt(&self, id: &NoticeId) -> Result<(), Fault> {
        let (state, _) = self.0.deliveries.state(id.as_str()).await?;
        let Some(subject) = &state.subject else { return Ok(()) };
        if subject.subscription == no_subscription() {
            self.attempt_post(id, &subject.owner).await?;
            return self.forget_oldest(&subject.owner).await;
        }
        let (subscriptions, _) = self.0.subscriptions.fresh(subject.owner.as_str()).await?;
        let subscription = match subscriptions.get(&subject.subscription) {
            Some(subscription) if subscription.enabled && self.is_admitted(subscription).await? => {
                Some(subscription)
            }
            Some(_) | None => None,
        };
        let quiet = subscription.and_then(|subscription| subscription.quiet.as_ref());
        let quiet = quiet_until(quiet, self.now()).filter(|_| !state.is_revived());
        let busy =
            || subscription.and_then(|subscription| self.count_mail(&subject.owner, subscription).err());
        if let Some(end) = quiet.or_else(busy) {
            self.handle(id, DeliveryStep::Postpone(end)).await?;
            return Ok(());
        }
        let Outcome::Begun(until) = self.handle(id, DeliveryStep::Begin).await? else { return Ok(()) };
        // Items that were added until now are sent with it.
        let (state, _) = self.0.deliveries.state(id.as_str()).await?;
        let attempted = match subscription {
            Some(subscription) => self.send(id, &subject.owner, subscription, state.digest).await?,
            None => AttemptRecord::Needless,
        };
        self.handle(id, DeliveryStep::End(until, attempted)).await?;
        self.forget_oldest(&subject.owner).await
    }

    async fn send(
        &self,
        id: &NoticeId,
        owner: &OwnerName,
        subscription: &Subscription,
        digest: bool,
    ) -> Result<AttemptRecord, Fault> {
        let Some(note) = self.note(id, subscription, digest).await? else {
            return Ok(AttemptRecord::Needless);
        };
        Ok(match self.send_note(id, owner, subscription, &note).await? {
            AttemptResult::Accepted => AttemptRecord::Accepted,
            AttemptResult::Failed(why, retry_after) => AttemptRecord::Failed(why, retry_after),
            AttemptResult::Gone(why) => {
                self.mark_gone(owner, subscription).await?;
                let (now, _) = self.0.subscriptions.fresh(owner.as_str()).await?;
                match now.get(&subscription.id) {
                    // The subscription has a new target by now, which may accept the notification.
                    Some(now) if now.target != subscription.target => AttemptRecord::Failed(why, None),
                    Some(_) | None => AttemptRecord::Refused(why),
                }
            }
        })
    }

    /// Counts a mail, since a mailbox may belong to a person who did not subscribe.
    ///
    /// # Errors
    /// The time of the next mail, if the limit is reached.
    pub(crate) fn count_mail(
        &self,
        owner: &OwnerName,
        subscription: &Subscription,
    ) -> Result<(), TimestampMs> {
        match &subscription.target {
            Target::Email { to } => self.0.mails.take(owner, to, self.now()),
            Target::Webhook { .. }
            | Target::Ntfy { .. }
            | Target::Slack { .. }
            | Target::Telegram { .. }
            | Target::WebPush { .. } => Ok(()),
        }
    }

    /// Makes one attempt with any content.
    pub(crate) async fn send_note(
        &self,
        id: &NoticeId,
        owner: &OwnerName,
        subscription: &Subscription,
        note: &Note,
    ) -> Result<AttemptResult, Fault> {
        let vapid = match &subscription.target {
            Target::WebPush { .. } => Some(self.vapid().await?),
            Target::Webhook { .. }
            | Target::Ntfy { .. }
            | Target::Slack { .. }
            | Target::Telegram { .. }
            | Target::Email { .. } => None,
        };
        let letter = Letter { id: id.as_str(), owner, subscription, note, now: self.now(), vapid };
        Ok(self.0.sender.send(&letter).await)
    }

    /// The notices of a notification, as stored.
    pub(crate) async fn notices(&self, id: &NoticeId) -> Result<Vec<Notice>, Fault> {
        let stream = DeliveryRoom::stream(id.as_str());
        let events = self.log().read_stream(&stream, Version::ZERO, READ_ROWS_MAX).await?;
        let mut notices = Vec::new();
        for stored in &events {
            if let DeliveryEvent::NoticeAdded(added) = DeliveryEvent::decode(stored)? {
                let notice = serde_json::from_slice(&added.notice)
                    .map_err(|error| Fault::Corrupt(format!("what {id} tells: {error}")))?;
                notices.push(notice);
            }
        }
        Ok(notices)
    }

    /// The content to send; `None` if nobody needs it any more.
    async fn note(
        &self,
        id: &NoticeId,
        subscription: &Subscription,
        digest: bool,
    ) -> Result<Option<Note>, Fault> {
        let (state, _) = self.0.deliveries.state(id.as_str()).await?;
        let Some(subject) = &state.subject else { return Ok(None) };
        // A tap on a digest in a browser opens the list of requests.
        let is_unlinked = digest && matches!(subscription.target, Target::WebPush { .. });
        let links_max = if is_unlinked { 0 } else { DIGEST_LINKS_MAX };
        let (mut items, mut links) = (Vec::new(), 0);
        for notice in self.notices(id).await? {
            let mut link = None;
            if notice.event == Event::Created {
                let id = &notice.request.request_id;
                let request = self.0.requests.read(id).await;
                let request =
                    Fault::skip_corrupt(request, "a damaged request is left out of a notification")?
                        .flatten();
                let waits =
                    request.is_some_and(|request| matches!(request.view.state, Phase::Open | Phase::Snoozed));
                if !waits && subscription.is_for_people() {
                    continue;
                }
                if waits && links < links_max {
                    link =
                        self.0.requests.link_of(id, subscription.secret.link(id), &subscription.id).await?;
                    links += 1;
                }
            }
            items.push(Item { notice, link });
        }
        let announcement = match (digest, items.pop()) {
            (_, None) => return Ok(None),
            (false, Some(item)) => Announcement::One(Box::new(item)),
            (true, Some(last)) => {
                items.push(last);
                Announcement::Digest(items)
            }
        };
        Ok(Some(Note { at: subject.created, announcement }))
    }

    /// Beyond the limit, drops the oldest dead letter.
    async fn forget_oldest(&self, owner: &OwnerName) -> Result<(), Fault> {
        const { assert!(DEAD_PER_OWNER_MAX < READ_ROWS_MAX) };
        let prefix = format!("{owner}/");
        let rows =
            self.log().read_index(DEAD, &prefix, None, DEAD_PER_OWNER_MAX + 1, Order::Ascending).await?;
        let oldest = rows.first().filter(|_| rows.len() > DEAD_PER_OWNER_MAX);
        if let Some(id) = oldest.and_then(|row| row.key.rsplit('/').next()?.parse().ok()) {
            let forgotten = self.handle(&id, DeliveryStep::Forget).await;
            Fault::skip_corrupt(forgotten, "a damaged notification that did not arrive is kept")?;
        }
        Ok(())
    }
}
