//! The operations on push configurations (sections 3.1.7 to 3.1.10), on behalf of one caller.
//! Must not know: the bindings, or how notifications are sent.

use a2a::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, SendMessageRequest, Task, TaskPushNotificationConfig,
};
use plenary_accounts::TokenOwner;
use plenary_engine::ExecuteError;
use plenary_kernel::AgentHandle;
use serde_json::{Value, json};

use super::{
    PushState, PushStep, Rejection,
    event::{PushConfig, PushKey},
    push_queue::{digest, stream_of},
};
use crate::{
    access::{AgentAccess, Backend},
    failure::Failure,
    limits::{
        PUSH_CONFIGS_PER_OWNER_MAX, PUSH_CONFIGS_PER_TASK_MAX, PUSH_TEXT_BYTES_MAX, PUSH_URL_BYTES_MAX,
    },
};

/// Whether a text is valid in a header and in a key.
fn is_valid_text(text: &str) -> bool {
    (1..=PUSH_TEXT_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A configuration as its client sees it, without the receiver's credentials.
fn shown(config: &PushConfig) -> TaskPushNotificationConfig {
    let PushConfig { key, url, token, scheme, .. } = config.clone();
    TaskPushNotificationConfig {
        url,
        id: Some(shown_id(&key.id).to_owned()),
        task_id: key.task,
        token,
        authentication: scheme.map(|scheme| AuthenticationInfo { scheme, credentials: None }),
        tenant: None,
    }
}

/// The stored id of a configuration: prefixed by the agent, since two agents of an owner may use the same id for a
/// task.
fn stored_id(agent: &AgentHandle, id: &str) -> String {
    format!("{agent}/{id}")
}

/// The id that the client chose; it cannot contain a slash.
fn shown_id(stored: &str) -> &str {
    stored.rsplit('/').next().unwrap_or(stored)
}

impl AgentAccess {
    /// The calling agent. Persons are refused: after the request, the server can act only on behalf of an agent.
    fn me(&self) -> Result<&AgentHandle, Failure> {
        match &self.principal.who {
            TokenOwner::Agent(me) if !self.principal.token.is_person() => Ok(me),
            TokenOwner::Agent(_) | TokenOwner::Owner(_) | TokenOwner::Operator => {
                Err(Failure::unsupported("Push notifications are for agents; use the token of one."))
            }
        }
    }

    async fn task(&self, id: &str) -> Result<Task, Failure> {
        match &self.backend {
            Backend::Runs(agent) => agent.task(id).await,
            Backend::Sessions(agent) => agent.task(id).await,
        }
    }

    async fn pushes(&self) -> Result<std::sync::Arc<PushState>, Failure> {
        let owner = self.me()?.owner_name();
        let state = self.a2a.0.push.configs.fresh(owner.as_str()).await;
        Ok(state.map_err(|_| Failure::stopping())?.0)
    }

    /// The configuration in a message, checked before the message is sent.
    pub(crate) fn push_of(
        &self,
        sent: &SendMessageRequest,
    ) -> Result<Option<TaskPushNotificationConfig>, Failure> {
        let config = sent
            .configuration
            .as_ref()
            .and_then(|configuration| configuration.task_push_notification_config.clone());
        if let Some(config) = &config {
            self.check_push(config)?;
        }
        Ok(config)
    }

    fn check_push(&self, config: &TaskPushNotificationConfig) -> Result<(), Failure> {
        self.me()?;
        let authentication = config.authentication.as_ref();
        let texts = [
            ("id", config.id.as_deref()),
            ("token", config.token.as_deref()),
            ("authentication.scheme", authentication.map(|authentication| authentication.scheme.as_str())),
            (
                "authentication.credentials",
                authentication.and_then(|authentication| authentication.credentials.as_deref()),
            ),
        ];
        // In proto3 an empty text means absent.
        let odd = |text: &str| !text.is_empty() && !is_valid_text(text);
        if let Some((name, _)) = texts.iter().find(|(_, text)| text.is_some_and(odd)) {
            let text = format!("`{name}` must be 1 to {PUSH_TEXT_BYTES_MAX} visible ASCII characters.");
            return Err(Failure::params(text));
        }
        if config.id.as_deref().is_some_and(|id| id.contains('/')) {
            return Err(Failure::params("`id` must not contain a slash."));
        }
        if config.url.len() > PUSH_URL_BYTES_MAX {
            return Err(Failure::params(format!("`url` must be at most {PUSH_URL_BYTES_MAX} bytes.")));
        }
        let checked = self.a2a.0.push.notify.check_url(&config.url);
        checked.map_err(|why| Failure::params(format!("`url` {why}.")))
    }

    /// CreateTaskPushNotificationConfig; an existing id is replaced.
    pub(crate) async fn create_push(&self, sent: TaskPushNotificationConfig) -> Result<Value, Failure> {
        self.check_push(&sent)?;
        let task = self.task(&sent.task_id).await?;
        let TaskPushNotificationConfig { url, id, token, authentication, .. } = sent;
        // By default, the same URL for the same task is the same configuration.
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| digest(&url));
        let known = self.own(&task.id).await?.into_iter().find(|config| shown_id(&config.key.id) == id);
        let id =
            known.map_or_else(|| Ok(stored_id(self.me()?, &id)), |known| Ok::<_, Failure>(known.key.id))?;
        let stream = stream_of(&self.backend, &task);
        let present = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (scheme, credentials) = authentication
            .map_or((None, None), |authentication| (Some(authentication.scheme), authentication.credentials));
        let through = self.a2a.0.accounts.token_name(&self.principal).await;
        let config = PushConfig {
            key: PushKey { task: task.id, id, stream },
            agent: self.seen.handle.clone(),
            receiver: self.me()?.clone(),
            through: through.map_err(|_| Failure::stopping())?,
            url,
            token: present(token),
            scheme: present(scheme),
            credentials: present(credentials),
        };
        let view = json!(shown(&config));
        self.do_push(PushStep::Set(Box::new(config))).await?;
        Ok(view)
    }

    async fn do_push(&self, step: PushStep) -> Result<(), Failure> {
        let owner = self.me()?.owner_name();
        let authority = Some(self.principal.clone().into());
        match self.a2a.0.push.carry_out(&owner, authority, step).await {
            Ok(()) => Ok(()),
            Err(ExecuteError::Rejected(Rejection::Unauthenticated)) => Err(Failure::no_token()),
            Err(ExecuteError::Rejected(Rejection::TooManyOfTask)) => Err(Failure::too_many(format!(
                "A task has at most {PUSH_CONFIGS_PER_TASK_MAX} push configurations."
            ))),
            Err(ExecuteError::Rejected(Rejection::TooManyOfOwner)) => Err(Failure::too_many(format!(
                "Your owner has {PUSH_CONFIGS_PER_OWNER_MAX} push configurations of tasks that go on."
            ))),
            Err(ExecuteError::OverQuota(_)) => Err(Failure::too_many("The quota of your owner is used up.")),
            Err(ExecuteError::KeyReused | ExecuteError::Fault(_)) => Err(Failure::stopping()),
        }
    }

    /// The caller's own configurations of a task of this agent.
    async fn own(&self, task: &str) -> Result<Vec<PushConfig>, Failure> {
        let (me, state) = (self.me()?.clone(), self.pushes().await?);
        let is_own = |config: &PushConfig| {
            config.key.task == task && config.receiver == me && config.agent == self.seen.handle
        };
        Ok(state.all.iter().map(|entry| entry.config.clone()).filter(is_own).collect())
    }

    /// GetTaskPushNotificationConfig
    pub(crate) async fn get_push(
        &self,
        request: &GetTaskPushNotificationConfigRequest,
    ) -> Result<Value, Failure> {
        let found = self
            .own(&request.task_id)
            .await?
            .into_iter()
            .find(|config| shown_id(&config.key.id) == request.id);
        match found {
            Some(config) => Ok(json!(shown(&config))),
            None => {
                self.task(&request.task_id).await?;
                Err(Failure::push_config_not_found())
            }
        }
    }

    /// ListTaskPushNotificationConfigs; without pages, since a task has few.
    pub(crate) async fn list_push(
        &self,
        request: &ListTaskPushNotificationConfigsRequest,
    ) -> Result<Value, Failure> {
        let found = self.own(&request.task_id).await?;
        if found.is_empty() {
            self.task(&request.task_id).await?;
        }
        Ok(json!({"configs": found.iter().map(shown).collect::<Vec<_>>()}))
    }

    /// DeleteTaskPushNotificationConfig; deleting a missing one succeeds.
    pub(crate) async fn delete_push(
        &self,
        request: &DeleteTaskPushNotificationConfigRequest,
    ) -> Result<Value, Failure> {
        let found = self
            .own(&request.task_id)
            .await?
            .into_iter()
            .find(|config| shown_id(&config.key.id) == request.id);
        match found {
            Some(config) => self.do_push(PushStep::Delete(config.key)).await?,
            None => drop(self.task(&request.task_id).await?),
        }
        Ok(json!({}))
    }
}
