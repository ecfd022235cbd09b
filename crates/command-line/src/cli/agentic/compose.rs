//! Composes a package from flags, a note, and commits. Flags override; lists are joined.
//! Must not know: how it is sent.

use plenary_client::context::{Deliverable, NewPackage};

use super::{
    git::{ChangedFile, Commit},
    note::Note,
};

/// Longest title of the protocol, in characters (AP-22).
pub(super) const TITLE_CHARS_MAX: usize = 200;

/// Fills in the values of a note.
pub(super) fn with_note(package: &mut NewPackage, note: Note) {
    let Note { title, decisions, questions, handoff, content, front } = note;
    put(&mut package.title, title);
    put(&mut package.description, front.description);
    put(&mut package.package_type, front.kind);
    put(&mut package.status, front.status);
    put(&mut package.review_type, front.review);
    put(&mut package.handoff_note, Some(handoff));
    put(&mut package.content_md, Some(content));
    package.decisions_made.extend(decisions);
    package.open_questions.extend(questions);
    package.tags.extend(front.tags);
    package.estimated_next_actor = package.estimated_next_actor.take().or(front.next);
    package.topic = package.topic.take().or(front.topic);
    package.parent_package_id = package.parent_package_id.take().or(front.parent);
}

/// A summary of the commits of a deposit.
pub(super) struct CommitSummary<'a> {
    /// Newest first.
    pub(super) commits: &'a [Commit],
    pub(super) commits_all: usize,
    pub(super) files: &'a [ChangedFile],
    /// The total number of changed files.
    pub(super) files_all: usize,
    pub(super) branch: Option<&'a str>,
}

/// Fills in the values of the commits: the subject of the newest, lines that begin with `Decision:`, `Question:` or
/// `Handoff:` (without a decision, the subjects count as decisions), and the files in their current state.
pub(super) fn with_commits(package: &mut NewPackage, summary: &CommitSummary<'_>) {
    let CommitSummary { commits, commits_all, files, files_all, branch } = summary;
    let Some(newest) = commits.first() else { return };
    let more = commits_all.saturating_sub(1);
    let tail = match more {
        0 => String::new(),
        1 => ", and 1 more commit".to_owned(),
        more => format!(", and {more} more commits"),
    };
    put(&mut package.title, Some(cut(&newest.subject, &tail)));
    let marked = |keys: &[&str]| -> Vec<String> {
        commits.iter().rev().flat_map(|commit| marked_lines(&commit.body, keys)).collect()
    };
    let decisions = marked(&["decision", "decided"]);
    if decisions.is_empty() {
        package.decisions_made.extend(commits.iter().rev().map(|commit| commit.subject.clone()));
    } else {
        package.decisions_made.extend(decisions);
    }
    package.open_questions.extend(marked(&["question", "open question"]));
    put(&mut package.handoff_note, Some(marked(&["handoff"]).join("\n")));
    let on_branch = branch.map(|branch| format!(" on {branch}")).unwrap_or_default();
    let commits_word = if *commits_all == 1 { "commit" } else { "commits" };
    let cut = match files_all.saturating_sub(files.len()) {
        0 => String::new(),
        unlisted => format!(" {unlisted} of the {files_all} changed files are not listed."),
    };
    put(&mut package.description, Some(format!("{commits_all} {commits_word}{on_branch}.{cut}")));
    put(&mut package.content_md, Some(listing(commits, *commits_all)));
    package.deliverables.extend(files.iter().map(|file| Deliverable {
        path: file.path.clone(),
        kind: super::deliverable::kind(&file.path),
        hash: file.hash.clone(),
        size_bytes: Some(file.size_bytes),
    }));
}

/// The commits as a list in Markdown, newest first.
fn listing(commits: &[Commit], all: usize) -> String {
    let mut text = String::new();
    for Commit { id, subject, body, author } in commits {
        text.push_str(&format!("- `{}` {subject} ({author})\n", id.get(..10).unwrap_or(id)));
        for line in body.lines().filter(|line| !line.trim().is_empty()) {
            text.push_str(&format!("  {}\n", line.trim_end()));
        }
    }
    let unlisted = all.saturating_sub(commits.len());
    if unlisted > 0 {
        text.push_str(&format!("- and {unlisted} older ones\n"));
    }
    text.trim_end().to_owned()
}

/// The text after the colon, in lines that begin with one of these keys.
fn marked_lines(body: &str, keys: &[&str]) -> Vec<String> {
    let note = |line: &str| {
        let (key, rest) = line.trim().split_once(':')?;
        let fits = keys.contains(&key.trim().to_lowercase().as_str()) && !rest.trim().is_empty();
        fits.then(|| rest.trim().to_owned())
    };
    body.lines().filter_map(note).collect()
}

/// Cuts a title so that it fits together with its tail.
fn cut(title: &str, tail: &str) -> String {
    let room = TITLE_CHARS_MAX - tail.chars().count();
    if title.chars().count() <= room {
        return format!("{title}{tail}");
    }
    let start: String = title.chars().take(room - 1).collect();
    format!("{}…{tail}", start.trim_end())
}

/// Sets a text if it is empty.
fn put(field: &mut String, text: Option<String>) {
    if field.is_empty() {
        *field = text.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commit(subject: &str, body: &str) -> Commit {
        Commit {
            id: "0123456789abcdef".into(),
            subject: subject.into(),
            body: body.into(),
            author: "Ann".into(),
        }
    }

    fn package_of(commits: &[Commit]) -> NewPackage {
        let mut package = NewPackage::default();
        let summary = CommitSummary {
            commits,
            commits_all: commits.len(),
            files: &[],
            files_all: 0,
            branch: Some("main"),
        };
        with_commits(&mut package, &summary);
        package
    }

    #[test]
    fn commits_give_title_decisions_questions_and_handoff() {
        let body = "Because of x.\n\nDecision: tabs\nquestion: and spaces?\nHandoff: see y\nDecision:";
        let package = package_of(&[commit("Newest", ""), commit("Oldest", body)]);
        assert_eq!(package.title, "Newest, and 1 more commit");
        assert_eq!(
            (package.decisions_made, package.open_questions),
            (vec!["tabs".into()], vec!["and spaces?".into()])
        );
        assert_eq!(
            (package.handoff_note.as_str(), package.description.as_str()),
            ("see y", "2 commits on main.")
        );
        assert!(
            package
                .content_md
                .starts_with("- `0123456789` Newest (Ann)\n- `0123456789` Oldest (Ann)\n  Because")
        );
        assert_eq!(package_of(&[commit("b", ""), commit("a", "")]).decisions_made, ["a", "b"]);
    }

    #[test]
    fn flags_win_over_a_note_and_lists_add_up() {
        let mut package =
            NewPackage { title: "mine".into(), tags: vec!["a".into()], ..NewPackage::default() };
        with_note(
            &mut package,
            super::super::note::read("---\ntags: b\ntype: decision\n---\n# theirs\ntext"),
        );
        assert_eq!((package.title.as_str(), package.package_type.as_str()), ("mine", "decision"));
        assert_eq!((package.tags.len(), package.content_md.as_str()), (2, "text"));
    }

    proptest! {
        #[test]
        fn ap_22_a_title_always_fits(subject in "\\PC{1,400}", more in 0_usize..10_000) {
            let package = {
                let mut package = NewPackage::default();
                let commits = [commit(&subject, "")];
                let summary = CommitSummary { commits: &commits, commits_all: more + 1, files: &[], files_all: 0, branch: None };
                with_commits(&mut package, &summary);
                package
            };
            prop_assert!((1..=TITLE_CHARS_MAX).contains(&package.title.chars().count()));
        }
    }
}
