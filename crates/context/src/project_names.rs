//! Resolves the project of a request: each owner has its own namespace of project ids (wire.md D.4). A plain id is
//! the project of the bearer's own owner, otherwise the one shared with it, those of owners that it admits before others; `OWNER:ID` names another
//! owner's.
//! Must not know: HTTP, or the operation in the project.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use plenary_accounts::Actor;
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Fault, Order};

use crate::{
    Context, Failure,
    index::{PROJECTS, SHARED},
    key,
    limits::NAMESAKES_MAX,
    project::{decide::default_owner, state::ProjectState},
    rejection::Rejection,
};

/// The place of a project: its owner, and its id in the owner's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The owner of the project.
    pub owner: OwnerName,
    /// Its id.
    pub project_id: String,
}

/// A project that a request names, whether it exists or would be created.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedProject {
    /// The prefix of its streams and index rows.
    pub(crate) key: String,
    pub(crate) home: Home,
    /// The default state if there is no such project.
    pub(crate) state: Arc<ProjectState>,
}

impl ResolvedProject {
    fn vacant(owner: OwnerName, id: &str) -> Self {
        let key = key::project(&owner, id);
        Self { key, home: Home { owner, project_id: id.to_owned() }, state: Arc::default() }
    }

    fn from_state(key: String, state: Arc<ProjectState>) -> Self {
        let home = Home { owner: owner(&state), project_id: state.project_id.clone() };
        Self { key, home, state }
    }

    /// Whether content for this project may call it `name`: its id, its full reference, or the name in the
    /// request.
    pub(crate) fn matches_name(&self, name: &str, requested_name: &str) -> bool {
        name == self.home.project_id || name == requested_name || name == self.home.reference()
    }
}

impl Home {
    /// The name that identifies the project for every token.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.owner, self.project_id)
    }
}

/// The owner in whose namespace a project is. Projects from before ids were a namespace may have no owner.
pub(crate) fn owner(state: &ProjectState) -> OwnerName {
    state.owner.clone().unwrap_or_else(default_owner)
}

/// The name that identifies a project for every token.
pub(crate) fn reference(state: &ProjectState) -> String {
    format!("{}:{}", owner(state), state.project_id)
}

/// The two parts of `OWNER:ID`; `None` for a text of another form.
pub fn split(text: &str) -> Option<(OwnerName, &str)> {
    let (owner, id) = text.split_once(':')?;
    Some((owner.parse().ok()?, id)).filter(|(_, id)| !id.is_empty())
}

/// The projects, by their keys, that the bearer cannot name by the plain id, with their full references.
fn ambiguous<'a>(
    by: &Actor,
    admits: impl Fn(&OwnerName) -> bool,
    visible: &'a [(String, Arc<ProjectState>)],
) -> HashMap<&'a str, String> {
    let own_owner = by.owner();
    let is_own = |state: &ProjectState| own_owner.is_some() && state.owner == own_owner;
    // Of each id: the projects whose owners are admitted, and all.
    let mut namesakes = HashMap::<&str, (u32, u32)>::new();
    for (_, state) in visible {
        let (admitted, all) = namesakes.entry(state.project_id.as_str()).or_default();
        *admitted += u32::from(is_own(state) || admits(&owner(state)));
        *all += 1;
    }
    let is_meant = |state: &ProjectState| match namesakes[state.project_id.as_str()] {
        (0, all) => all == 1,
        (admitted, _) => admitted == 1 && admits(&owner(state)),
    };
    let is_plain =
        |state: &ProjectState| is_own(state) || is_meant(state) && split(&state.project_id).is_none();
    let others = visible.iter().filter(|(_, state)| !is_plain(state));
    others.map(|(key, state)| (key.as_str(), reference(state))).collect()
}

impl Context {
    /// The projects, by their keys, that the bearer cannot name by the plain id, with their full references.
    pub(crate) async fn references<'a>(
        &self,
        by: &Actor,
        visible: &'a [(String, Arc<ProjectState>)],
    ) -> Result<HashMap<&'a str, String>, Fault> {
        let admission = self.admission(by).await?;
        Ok(ambiguous(by, |owner| admission.admits(owner), visible))
    }

    /// The project that a bearer names. `author` is the author that the content names: if the operator names a project
    /// that does not exist, it belongs to that author's owner.
    ///
    /// # Errors
    /// `ProjectNotFound` for a project of another owner that the bearer may not read, whether it exists or not;
    /// `AmbiguousProjectId` if a plain id matches several projects.
    pub(crate) async fn place(
        &self,
        by: &Actor,
        text: &str,
        author: Option<&str>,
    ) -> Result<ResolvedProject, Failure> {
        let Some(own_owner) = by.owner() else { return self.place_for_operator(text, author).await };
        if let Some(place) = self.project_of(&own_owner, text).await? {
            return Ok(place);
        }
        let is_read = |place: &ResolvedProject| place.state.access(by).read;
        let Some((named_owner, id)) = split(text) else {
            return at_most_one(self.shared_with(by, text).await?)?
                .map_or_else(|| Ok(ResolvedProject::vacant(own_owner, text)), Ok);
        };
        if let Some(place) = self.project_of(&named_owner, id).await?.filter(is_read) {
            return Ok(place);
        }
        if named_owner == own_owner {
            return Ok(ResolvedProject::vacant(own_owner, id));
        }
        // Another network's agent names the owner, so that its accord can be checked.
        let is_elsewhere = matches!(by, Actor::Agent(agent) if agent.is_elsewhere());
        let legacy = self.existing(key::part(text)).await?.filter(|place| !is_elsewhere && is_read(place));
        legacy.ok_or_else(|| Rejection::ProjectNotFound.into())
    }

    async fn place_for_operator(&self, text: &str, author: Option<&str>) -> Result<ResolvedProject, Failure> {
        if let Some((owner, id)) = split(text) {
            if let Some(place) = self.project_of(&owner, id).await? {
                return Ok(place);
            }
            if self.accounts().fresh_owner(&owner).await?.state.exists() {
                return Ok(ResolvedProject::vacant(owner, id));
            }
        }
        if let Some(place) = at_most_one(self.namesakes(text).await?)? {
            return Ok(place);
        }
        Ok(ResolvedProject::vacant(self.owner_of_author(author).await?, text))
    }

    /// The place of an id in the namespace of an owner, whether the project exists or not.
    pub(crate) async fn place_of(&self, owner: &OwnerName, id: &str) -> Result<ResolvedProject, Fault> {
        Ok(self.project_of(owner, id).await?.unwrap_or_else(|| ResolvedProject::vacant(owner.clone(), id)))
    }

    /// The existing project of an owner with this id.
    async fn project_of(&self, namespace: &OwnerName, id: &str) -> Result<Option<ResolvedProject>, Fault> {
        if let Some(place) = self.existing(key::project(namespace, id)).await? {
            return Ok(Some(place));
        }
        // Projects from before ids were a namespace have the id alone as their key.
        let legacy = self.existing(key::part(id)).await?;
        Ok(legacy.filter(|place| owner(&place.state) == *namespace))
    }

    async fn existing(&self, key: String) -> Result<Option<ResolvedProject>, Fault> {
        let state = self.project(&key).await?;
        Ok(state.exists().then(|| ResolvedProject::from_state(key, state)))
    }

    /// The projects with this id that are shared with a bearer; if owners that it admits share some, only those. Anybody may
    /// share one, and makes no name ambiguous by it.
    async fn shared_with(&self, by: &Actor, id: &str) -> Result<Vec<ResolvedProject>, Fault> {
        let mut shared_keys = BTreeMap::new();
        let part = key::part(id);
        for entry in member_entries(by) {
            let prefix = format!("{}/", key::part(&entry));
            let keys = self.keys(SHARED, &prefix, &part).await?;
            shared_keys.extend(keys.into_iter().map(|key| (key, ())));
        }
        let mut shared = Vec::new();
        for key in shared_keys.into_keys().chain([part]) {
            shared.extend(self.existing(key).await?.filter(|place| place.state.access(by).read));
        }
        if shared.len() > 1 {
            let admission = self.admission(by).await?;
            let is_admitted = |place: &ResolvedProject| admission.admits(&place.home.owner);
            if shared.iter().any(is_admitted) {
                shared.retain(is_admitted);
            }
        }
        Ok(shared)
    }

    /// The projects with an id, of all owners.
    async fn namesakes(&self, id: &str) -> Result<Vec<ResolvedProject>, Fault> {
        let part = key::part(id);
        let keys = self.keys(PROJECTS, "", &part).await?;
        let mut namesakes = Vec::new();
        for key in keys.into_iter().chain([part]) {
            namesakes.extend(self.existing(key).await?);
        }
        Ok(namesakes)
    }

    /// The keys of the projects with an id, from the rows of an index with a prefix.
    async fn keys(&self, index: &'static str, prefix: &str, part: &str) -> Result<Vec<String>, Fault> {
        let key_prefix = format!("{prefix}{part}{}", key::OF_OWNER);
        let rows = self.log().read_index(index, &key_prefix, None, NAMESAKES_MAX, Order::Ascending).await?;
        Ok(rows.iter().map(|row| row.key[prefix.len()..].to_owned()).collect())
    }

    /// The owner of an actor, if it exists here; `plenary` otherwise.
    pub(crate) async fn owner_of_author(&self, author: Option<&str>) -> Result<OwnerName, Fault> {
        let handle = author.and_then(|id| {
            let handle = if id.starts_with('@') { id.to_owned() } else { format!("@{id}") };
            handle.parse::<AgentHandle>().ok()
        });
        let name = match handle {
            Some(handle) => Some(handle.owner_name()),
            None => author.and_then(|id| id.parse().ok()),
        };
        match name {
            Some(name) if self.accounts().fresh_owner(&name).await?.state.exists() => Ok(name),
            Some(_) | None => Ok(default_owner()),
        }
    }

    /// The shortest name by which a bearer can name a project that it may read: its id if unambiguous, else its
    /// reference.
    pub(crate) async fn shortest_name(
        &self,
        by: &Actor,
        key: &str,
        state: &ProjectState,
    ) -> Result<String, Fault> {
        match self.place(by, &state.project_id, None).await {
            Ok(place) if place.key == key => Ok(state.project_id.clone()),
            Ok(_) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Ok(reference(state)),
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }
}

/// The only project, if there is one; several are an error.
fn at_most_one(mut places: Vec<ResolvedProject>) -> Result<Option<ResolvedProject>, Rejection> {
    if places.len() > 1 { Err(Rejection::AmbiguousProjectId) } else { Ok(places.pop()) }
}

/// The member entries that match a bearer.
pub(crate) fn member_entries(by: &Actor) -> Vec<String> {
    match by {
        Actor::Operator | Actor::Seed => Vec::new(),
        Actor::Owner(owner) => vec![format!("@{owner}.*")],
        Actor::Agent(agent) => vec![agent.to_string(), format!("@{}.*", agent.owner())],
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::TimestampMs;

    use super::*;

    #[test]
    fn ap_1_a_reference_is_an_owner_and_an_id_that_may_have_colons() {
        let read = |text| split(text).map(|(owner, id)| (owner.to_string(), id.to_owned()));
        assert_eq!(read("nick:parser"), Some(("nick".to_owned(), "parser".to_owned())));
        assert_eq!(read("nick:urn:x"), Some(("nick".to_owned(), "urn:x".to_owned())));
        for plain in ["parser", ":parser", "nick:", "Nick:parser", "a.b:c", "~nick:p"] {
            assert_eq!(read(plain), None, "{plain}");
        }
    }

    fn project(owner: &str, id: &str) -> (String, Arc<ProjectState>) {
        let name: OwnerName = owner.parse().unwrap();
        let state = ProjectState {
            project_id: id.to_owned(),
            created_at: Some(TimestampMs(1)),
            owner: Some(name.clone()),
            ..ProjectState::default()
        };
        (key::project(&name, id), Arc::new(state))
    }

    #[test]
    fn ap_1_a_list_has_a_reference_where_a_plain_id_means_another_or_several() {
        let visible = [
            project("ann", "p"),
            project("bob", "p"),
            project("bob", "q"),
            project("ann", "x:y"),
            project("bob", "z:y"),
        ];
        let references = |by: &str, admitted: &str| {
            let names = ambiguous(
                &by.parse().unwrap(),
                |owner| owner.as_str() == "bob" || admitted == "all",
                &visible,
            );
            let mut names: Vec<String> = names.into_values().collect();
            names.sort();
            names
        };
        assert_eq!(references("@ann.a", "all"), ["bob:p", "bob:z:y"]);
        assert_eq!(references("~bob", "all"), ["ann:p", "ann:x:y"]);
        assert_eq!(references("operator", "all"), ["ann:p", "ann:x:y", "bob:p", "bob:z:y"]);
        assert_eq!(references("@cat.c", "all"), ["ann:p", "ann:x:y", "bob:p", "bob:z:y"]);
        assert_eq!(references("@cat.c", "bob"), ["ann:p", "ann:x:y", "bob:z:y"]);
        assert!(ambiguous(&"@cat.c".parse().unwrap(), |_| false, &[project("ann", "q")]).is_empty());
    }
}
