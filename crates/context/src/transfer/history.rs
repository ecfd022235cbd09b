//! The history of a package: the deposit and every step, each with its resulting hash. A log that does not lead to
//! the package's current state is refused.
//! Must not know: what the store contains.

use plenary_accounts::Actor;
use plenary_kernel::json::Tree;

use crate::{
    attribution::is_own,
    document::Document,
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    limits::{NOTE_BYTES_MAX, STEPS_MAX},
    malformed::{Code, ContextFault},
    moment::Moment,
    package::event::{PackageDeposited, PackageEvent, PackageMoved},
    schema::Package,
    shape::Shape,
};

/// One step, the first being the deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    is_flag: bool,
    status: Status,
    review_type: ReviewType,
    note: Option<String>,
    by: Actor,
    at: Option<Moment>,
    hash: ContentHash,
}

/// The steps of a package; at least the deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct History {
    steps: Vec<Step>,
    /// Whether the log was sent; otherwise only the current state is known.
    is_known: bool,
}

pub(crate) fn text(package: &Package) -> Result<&str, ContextFault> {
    std::str::from_utf8(&package.raw).map_err(|_| ContextFault::whole("A package must be UTF-8."))
}

fn in_state(
    package: &Package,
    status: Status,
    review_type: ReviewType,
) -> Result<(String, ContentHash), ContextFault> {
    let text = Document { deposited: text(package)?, status, review_type }.text();
    let hash = ContentHash::of_text(&text).ok_or_else(|| ContextFault::whole("A package must be JSON."))?;
    Ok((text, hash))
}

impl History {
    /// The history of a package without a log.
    pub(crate) fn without_log(package: &Package) -> Self {
        let step = Step {
            is_flag: false,
            status: package.head.status,
            review_type: package.head.review_type,
            note: None,
            by: Actor::Operator,
            at: None,
            hash: package.hash,
        };
        Self { steps: vec![step], is_known: false }
    }

    /// Reads the log of a package. The operator may import steps of any actor; others only their own steps.
    pub(crate) fn read(package: &Package, reviews: &str, by: &Actor) -> Result<Self, ContextFault> {
        let invalid = || ContextFault::field("reviews", "the steps of the package, the deposit first");
        let items: Vec<Tree<'_>> = serde_json::from_str(reviews).map_err(|_| invalid())?;
        if items.is_empty() || items.len() > STEPS_MAX as usize + 2 {
            return Err(invalid());
        }
        let mut steps = Vec::<Step>::with_capacity(items.len());
        for (nth, item) in items.iter().enumerate() {
            let at = format!("reviews[{nth}]");
            let step = step(&Shape::at(&at, item)?)?;
            if !may_import(by, &step.by) {
                return Err(ContextFault::field(format!("{at}.by"), "the importer's own"));
            }
            if let Some(before) = steps.last() {
                let stays_in_review = before.status == Status::AwaitingReview && step.is_flag;
                if !stays_in_review && !before.status.leads_to(step.status) {
                    let words = (before.status.as_str(), step.status.as_str());
                    return Err(ContextFault::field(
                        at,
                        &format!("a step that there is; none leads from {} to {}", words.0, words.1),
                    ));
                }
            }
            let (_, hash) = in_state(package, step.status, step.review_type)?;
            if hash != step.hash {
                return Err(ContextFault {
                    code: Code::HashMismatch,
                    field: Some(format!("{at}.content_hash")),
                    message: format!(
                        "In that state the package hashes to {hash}; what is claimed is another."
                    ),
                });
            }
            steps.push(step);
        }
        if steps.last().map(|last| last.hash) != Some(package.hash) {
            return Err(ContextFault::field("reviews", "steps that lead to the package as it stands"));
        }
        Ok(Self { steps, is_known: true })
    }

    /// The same steps for a changed package.
    pub(crate) fn for_package(&self, package: &Package) -> Result<Self, ContextFault> {
        let mut history = self.clone();
        for step in &mut history.steps {
            step.hash = in_state(package, step.status, step.review_type)?.1;
        }
        Ok(history)
    }

    /// Whether the history contains this hash.
    pub(crate) fn contains(&self, hash: ContentHash) -> bool {
        self.is_known && self.hashes().any(|known| known == hash)
    }

    /// The hash of the first known state.
    pub(crate) fn first_hash(&self) -> ContentHash {
        self.steps[0].hash
    }

    /// The first known state.
    pub(crate) fn first_state(&self) -> (Status, ReviewType) {
        let Step { status, review_type, .. } = self.steps[0];
        (status, review_type)
    }

    /// The hash of the package in a state, if its log was not sent.
    pub(crate) fn hash_without_log(
        &self,
        package: &Package,
        (status, review_type): (Status, ReviewType),
    ) -> Option<ContentHash> {
        let hash = || in_state(package, status, review_type).ok().map(|(_, hash)| hash);
        (!self.is_known).then(hash).flatten()
    }

    /// The package in its first known state.
    pub(crate) fn first_text(&self, package: &Package) -> String {
        let (status, review_type) = self.first_state();
        in_state(package, status, review_type).map_or_else(|_| String::new(), |(text, _)| text)
    }

    /// The known hashes of the package, oldest first.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = ContentHash> {
        self.steps.iter().map(|step| step.hash)
    }

    /// The events that create the package with its whole history.
    pub(crate) fn events(
        &self,
        package: &Package,
        (renamed_from, origin_hash): (Option<&str>, Option<ContentHash>),
        by: &Actor,
    ) -> Result<Vec<PackageEvent>, ContextFault> {
        let Some(first) = self.steps.first() else { return Ok(Vec::new()) };
        let (raw, hash) = in_state(package, first.status, first.review_type)?;
        let head = &package.head;
        let depositor = if self.is_known { &first.by } else { by };
        let deposited = PackageDeposited {
            by: depositor.clone(),
            imported_by: (depositor != by).then(|| by.clone()),
            package_id: head.package_id.clone(),
            hash,
            status: first.status,
            review_type: first.review_type,
            package_type: head.package_type.clone(),
            created_at: head.created_at,
            created_by: head.created_by.clone(),
            parent: head.parent_package_id.clone(),
            asks: head.asks,
            at: first.at,
            renamed_from: renamed_from.map(str::to_owned),
            origin_hash,
            trace: None,
            raw: raw.into(),
        };
        let mut events = vec![PackageEvent::PackageDeposited(deposited)];
        events.extend(self.events_after(package, 0, by));
        Ok(events)
    }

    /// The events that continue an existing package with this hash; `None` if the history does not continue it.
    pub(crate) fn continuation(
        &self,
        package: &Package,
        (status, review_type): (Status, ReviewType),
        hash: ContentHash,
        by: &Actor,
    ) -> Option<Vec<PackageEvent>> {
        if let Some(nth) = self.steps.iter().rposition(|step| step.hash == hash) {
            return Some(self.events_after(package, nth, by));
        }
        // Without a log: the content must be equal, and one step must lead to the new state.
        let is_same = in_state(package, status, review_type).is_ok_and(|(_, state_hash)| state_hash == hash);
        let last =
            self.steps.last().filter(|last| !self.is_known && is_same && status.leads_to(last.status))?;
        let step = Step { by: by.clone(), is_flag: last.status == Status::AwaitingReview, ..last.clone() };
        Some(vec![step_event(package, status, &step, by)])
    }

    fn events_after(&self, package: &Package, nth: usize, by: &Actor) -> Vec<PackageEvent> {
        self.steps[nth..].windows(2).map(|pair| step_event(package, pair[0].status, &pair[1], by)).collect()
    }
}

fn step_event(package: &Package, from: Status, step: &Step, by: &Actor) -> PackageEvent {
    let event = PackageMoved {
        by: step.by.clone(),
        from,
        status: step.status,
        review_type: step.review_type,
        hash: step.hash,
        note: step.note.clone(),
        package_type: package.head.package_type.clone(),
        created_at: package.head.created_at,
        at: step.at,
        imported_by: (step.by != *by).then(|| by.clone()),
    };
    if step.is_flag { PackageEvent::PackageFlagged(event) } else { PackageEvent::PackageReviewed(event) }
}

fn may_import(by: &Actor, author: &Actor) -> bool {
    match by {
        Actor::Operator => true,
        Actor::Seed => false,
        Actor::Owner(_) | Actor::Agent(_) => {
            by == author || matches!(author, Actor::Agent(agent) if is_own(by, agent.owner()))
        }
    }
}

fn step(shape: &Shape<'_>) -> Result<Step, ContextFault> {
    let note = shape.text_or_null("note")?;
    if note.is_some_and(|note| note.len() > NOTE_BYTES_MAX) {
        return shape.wrong("note", "a string of at most 16384 bytes");
    }
    let statuses = "one of draft, complete, awaiting_review, revision_requested";
    Ok(Step {
        is_flag: shape.text("action")? == "flag",
        status: shape.word("status", Status::parse, statuses)?,
        review_type: shape.word("review_type", ReviewType::parse, "one of none, human, agent")?,
        note: note.map(str::to_owned),
        by: shape.word("by", |text| text.parse().ok(), "operator, ~owner or @owner.name")?,
        at: Some(shape.moment("at")?),
        hash: shape.word("content_hash", ContentHash::parse, "sha256:<64 hex digits>")?,
    })
}
