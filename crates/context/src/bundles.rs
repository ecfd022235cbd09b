//! The two bundles: orientation (section 8.3) and digest (section 8.4; wire.md 0.1).
//! Must not know: HTTP.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use plenary_accounts::Actor;
use plenary_kernel::TimestampMs;
use plenary_log::{Fault, Order};
use plenary_retrieval::Query;
use serde::Deserialize;

use crate::{
    Context,
    history::FactSelection,
    index::{PACKAGES, QUESTIONS},
    key,
    lifecycle::Status,
    limits::{DIGEST_PACKAGES_MAX, DIGEST_PROJECTS_MAX, LIST_MAX, ORIENT_PACKAGES, QUESTIONS_MAX},
    moment::Moment,
    package::state::PackageState,
    package_reader::{Drafts, PackageQuery, in_order},
    project::state::ProjectState,
    wire::{Digest, DigestProject, OpenQuestion, Orientation, Summary, raw},
};

const DAY_MS: u64 = 86_400_000;

/// The value of a row of `context.questions`.
#[derive(Deserialize)]
struct Questions {
    package_id: String,
    created_at: String,
    draft: bool,
    questions: Vec<String>,
}

/// The times of the packages that a bundle shows.
#[derive(Debug, Clone, Copy)]
struct Window {
    since: Moment,
    until: Moment,
}

/// The open questions of a window.
struct OpenQuestions {
    /// Each with the id of its package's stream.
    questions: Vec<(String, OpenQuestion)>,
    /// Whether a limit left some out.
    is_cut: bool,
}

/// The parameters of a digest.
#[derive(Debug)]
pub(crate) struct DigestSelection {
    pub(crate) focus: Option<Query>,
    pub(crate) window_days: u64,
    pub(crate) snippets: usize,
    pub(crate) include_archived: bool,
}

impl Context {
    /// A window of `window_days` that ends now, or a little later for clients whose clocks are ahead.
    fn window(&self, window_days: u64) -> Window {
        let now = self.clock().now();
        let since = TimestampMs(now.0.saturating_sub(window_days.saturating_mul(DAY_MS)));
        Window { since: Moment::of(since), until: Moment::latest(now) }
    }

    /// An orientation: the recent state of a project, without ranking.
    pub(crate) async fn orient(
        &self,
        (id, project): (&str, &ProjectState),
        by: &Actor,
        window_days: u64,
    ) -> Result<Orientation, Fault> {
        let window = self.window(window_days);
        let listing = PackageQuery {
            since: Some(window.since),
            // Packages of the future would precede all later ones for ever.
            cursor: Some(window.until.as_str()),
            drafts: Drafts::Own(by),
            ..PackageQuery::default()
        };
        let page = self.list(id, &listing, ORIENT_PACKAGES).await?;
        let facts = self.facts(id, &FactSelection::default(), LIST_MAX).await?;
        let questions = self.questions(id, window, Drafts::Own(by)).await?;
        let is_short = page.next_cursor.is_some() && page.packages.len() < ORIENT_PACKAGES;
        let cut = [
            ("recent_packages", is_short),
            ("active_facts", facts.next_cursor.is_some()),
            ("open_questions", questions.is_cut),
        ];
        Ok(Orientation {
            project: project.into(),
            recent_packages: page
                .packages
                .into_iter()
                .map(|stored_package| raw(stored_package.text))
                .collect(),
            active_facts: facts.facts.into_iter().map(raw).collect(),
            open_questions: self.without_damaged_packages(questions.questions).await?,
            window_days,
            generated_at: Moment::of(self.clock().now()).to_string(),
            truncated: cut.into_iter().filter_map(|(name, is_cut)| is_cut.then_some(name)).collect(),
        })
    }

    /// The open questions of a window, newest first.
    async fn questions(
        &self,
        project: &str,
        window: Window,
        drafts: Drafts<'_>,
    ) -> Result<OpenQuestions, Fault> {
        let (prefix, mut questions) = (format!("{project}/"), Vec::new());
        let mut after = Some(format!("{prefix}{}", window.until.as_str()));
        loop {
            let rows = self
                .log()
                .read_index_past_damage(
                    QUESTIONS,
                    &prefix,
                    after.as_deref(),
                    QUESTIONS_MAX,
                    Order::Descending,
                )
                .await?;
            for row in &rows {
                let rest = &row.key[prefix.len()..];
                if rest < window.since.as_str() {
                    return Ok(OpenQuestions { questions, is_cut: false });
                }
                let Some(value) = &row.value else { continue };
                let corrupt = |_| Fault::Corrupt(format!("{} in {QUESTIONS}", row.key));
                let stored: Questions = serde_json::from_slice(value).map_err(corrupt)?;
                let package = rest.split_once('/').map_or("", |(_, package)| package);
                let id = key::join(&[project, package]);
                if stored.draft && self.hides(&id, drafts).await? {
                    continue;
                }
                for question in stored.questions {
                    if questions.len() == QUESTIONS_MAX {
                        return Ok(OpenQuestions { questions, is_cut: true });
                    }
                    let (package_id, created_at) = (stored.package_id.clone(), stored.created_at.clone());
                    questions.push((id.clone(), OpenQuestion { question, package_id, created_at }));
                }
            }
            match rows.last() {
                Some(last) if rows.len() == QUESTIONS_MAX => after = Some(last.key.clone()),
                _ => return Ok(OpenQuestions { questions, is_cut: false }),
            }
        }
    }

    /// The questions without those of damaged packages, which no list shows.
    async fn without_damaged_packages(
        &self,
        questions: Vec<(String, OpenQuestion)>,
    ) -> Result<Vec<OpenQuestion>, Fault> {
        let (mut sound, mut is_sound_by_id) =
            (Vec::with_capacity(questions.len()), HashMap::<String, bool>::new());
        for (id, question) in questions {
            let is_sound = match is_sound_by_id.get(&id) {
                Some(is_sound) => *is_sound,
                None => {
                    let state = self.packages().fresh(&id).await;
                    let state =
                        Fault::skip_corrupt(state, "the questions of a damaged package are left out")?;
                    is_sound_by_id.insert(id, state.is_some());
                    state.is_some()
                }
            };
            sound.extend(is_sound.then_some(question));
        }
        Ok(sound)
    }

    /// Whether a package that was deposited as a draft is still one that the reader may not see.
    async fn hides(&self, id: &str, drafts: Drafts<'_>) -> Result<bool, Fault> {
        let state = Fault::skip_corrupt(self.packages().fresh(id).await, "a damaged draft is left out")?;
        let Some((state, _)) = state else { return Ok(true) };
        let PackageState(Some(present)) = &*state else { return Ok(true) };
        Ok(present.status == Status::Draft && !drafts.include(&present.created_by.id))
    }

    /// A digest of one project, or of all that the bearer is shown; archived ones on request.
    pub(crate) async fn digest(
        &self,
        single_project: Option<(String, Arc<ProjectState>)>,
        by: &Actor,
        selection: &DigestSelection,
    ) -> Result<Digest, Fault> {
        let window = self.window(selection.window_days);
        let is_global = single_project.is_none();
        let (projects, mut is_cut) = match &single_project {
            Some(project) => (vec![project.clone()], false),
            None => {
                let admitted = self.admitted(by, DIGEST_PROJECTS_MAX + 1).await?;
                let (mut visible, is_cut) = in_order(admitted, DIGEST_PROJECTS_MAX);
                visible.retain(|(_, project)| selection.include_archived || project.archived_at.is_none());
                (visible, is_cut)
            }
        };
        let (mut digest_counts, mut facts, mut questions) = (DigestCounts::default(), Vec::new(), Vec::new());
        let (mut counts, mut has_more_facts, mut has_more_questions) = (Vec::new(), false, false);
        let references = self.references(by, &projects).await?;
        for (id, project) in &projects {
            let before = digest_counts.packages;
            is_cut |= self.count(id, window, &mut digest_counts).await?;
            let page = self.facts(id, &FactSelection::default(), LIST_MAX).await?;
            has_more_facts |= page.next_cursor.is_some();
            let OpenQuestions { questions: open_questions, is_cut: has_more } =
                self.questions(id, window, Drafts::None).await?;
            has_more_questions |= has_more;
            counts.push(DigestProject {
                project_id: project.project_id.clone(),
                reference: references.get(id.as_str()).cloned(),
                packages: digest_counts.packages - before,
                facts: page.facts.len() as u64,
                open_questions: open_questions.len() as u64,
            });
            facts.extend(page.facts);
            questions.extend(open_questions);
        }
        questions.sort_by_key(|(_, open): &(String, OpenQuestion)| Reverse(Moment::parse(&open.created_at)));
        has_more_facts |= facts.len() > LIST_MAX;
        has_more_questions |= questions.len() > QUESTIONS_MAX;
        is_cut |= has_more_facts || has_more_questions;
        facts.truncate(LIST_MAX);
        questions.truncate(QUESTIONS_MAX);
        let questions = self.without_damaged_packages(questions).await?;
        let snippets = match &selection.focus {
            Some(focus) if selection.snippets > 0 => {
                let ids = projects.iter().map(|(id, _)| id.clone()).collect();
                self.snippets(focus, ids, window.since, selection.snippets).await?
            }
            Some(_) | None => Vec::new(),
        };
        let facts_count = (facts.len(), has_more_facts);
        let text =
            digest_counts.text(selection.window_days, facts_count, (questions.len(), has_more_questions));
        Ok(Digest {
            project: single_project.as_ref().map(|(_, project)| (&**project).into()),
            focus: selection.focus.as_ref().map(|focus| focus.text().to_owned()),
            window_days: selection.window_days,
            summary: digest_counts.summary(text, is_cut),
            active_facts: facts.into_iter().map(raw).collect(),
            open_questions: questions,
            snippets,
            projects: is_global.then_some(counts),
            generated_at: Moment::of(self.clock().now()).to_string(),
        })
    }

    /// Counts the packages of a window, without drafts. Returns whether a limit left some out.
    async fn count(&self, project: &str, window: Window, counts: &mut DigestCounts) -> Result<bool, Fault> {
        let prefix = format!("{project}/");
        let mut rows = self.log().index_rows(PACKAGES, &prefix, Order::Descending).past_damage();
        while let Some(row) = rows.next().await? {
            let rest = &row.key[prefix.len()..];
            if rest < window.since.as_str() {
                break;
            }
            if rest > window.until.as_str() {
                continue;
            }
            let at = rest.split_once('/').and_then(|(at, _)| Moment::parse(&format!("{at}Z")));
            let value = std::str::from_utf8(&row.value).unwrap_or_default();
            if let (Some(at), Some((status, kind))) = (at, value.split_once(' '))
                && status != Status::Draft.as_str()
            {
                if counts.packages >= DIGEST_PACKAGES_MAX as u64 {
                    return Ok(true);
                }
                counts.add(at, status, kind);
            }
        }
        Ok(false)
    }
}

#[derive(Debug, Default)]
struct DigestCounts {
    packages: u64,
    by_type: BTreeMap<String, u64>,
    by_status: BTreeMap<String, u64>,
    first: Option<Moment>,
    last: Option<Moment>,
}

impl DigestCounts {
    fn summary(self, text: String, truncated: bool) -> Summary {
        Summary {
            package_count: self.packages,
            by_type: self.by_type,
            by_status: self.by_status,
            first_at: self.first.map(|at| at.to_string()),
            last_at: self.last.map(|at| at.to_string()),
            text,
            truncated,
        }
    }

    fn add(&mut self, at: Moment, status: &str, kind: &str) {
        self.packages += 1;
        *self.by_type.entry(kind.to_owned()).or_default() += 1;
        *self.by_status.entry(status.to_owned()).or_default() += 1;
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = self.last.max(Some(at));
    }

    /// The counts as a sentence. Those of facts and questions each say whether there are more.
    fn text(&self, window_days: u64, facts: (usize, bool), questions: (usize, bool)) -> String {
        let kinds: Vec<String> = self.by_type.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        let Self { packages, .. } = self;
        let counted = |name: &str, (count, has_more): (usize, bool)| {
            let (more, s) = (if has_more { "more than " } else { "" }, if count == 1 { "" } else { "s" });
            format!("{more}{count} {name}{s}")
        };
        let (facts, questions) = (counted("active fact", facts), counted("open question", questions));
        let s = if *packages == 1 { "" } else { "s" };
        let days = if window_days == 1 { "day" } else { "days" };
        format!("{packages} package{s} in {window_days} {days}{kinds}; {facts}; {questions}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_digest_says_what_is_only_a_part() {
        let text = DigestCounts::default().text(7, (LIST_MAX, true), (1, false));
        assert_eq!(text, "0 packages in 7 days; more than 1000 active facts; 1 open question.");
    }
}
