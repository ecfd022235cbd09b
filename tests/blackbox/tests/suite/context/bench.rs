//! A desk for trying many packages: what is taken must be there with its hash, and of what is refused nothing may be.
//! Must not know: which packages are good.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::speak::{assert_package, deposit, desk, package, package_at, pull, refused, with};

/// The bench of one test.
pub(super) struct Bench {
    pub(super) nick: Agent,
    count: u32,
    _server: Server,
}

impl Bench {
    pub(super) async fn new() -> Self {
        let (server, nick) = desk().await;
        Self { nick, count: 0, _server: server }
    }

    /// A good package with an id of its own.
    pub(super) fn package(&mut self) -> Value {
        self.count += 1;
        package(&self.nick.handle, &format!("pkg_{:032x}", self.count))
    }

    /// The same with other members on top.
    pub(super) fn with(&mut self, members: Value) -> Value {
        with(self.package(), members)
    }

    /// The same without a member.
    pub(super) fn without(&mut self, name: &str) -> Value {
        let mut package = self.package();
        package.as_object_mut().expect("an object").remove(name);
        package
    }

    /// The package is taken and comes back as it was.
    pub(super) async fn takes(&self, package: &Value) {
        let response = deposit(&self.nick, package).await;
        assert_package(&response, 201, package);
        let id = package["package_id"].as_str().expect("an id");
        assert_eq!(pull(&self.nick, id).await, *package);
    }

    /// It is refused as `invalid_schema` for this field, and not stored.
    pub(super) async fn refuses(&self, package: &Value, field: &str) {
        let response = deposit(&self.nick, package).await;
        refused(&response, 400, "invalid_schema", field);
        if let Some(id) = package["package_id"].as_str().filter(|id| !id.is_empty()) {
            self.nick.get(&package_at(id)).await.assert_refused(404, "package_not_found");
        }
    }

    /// A member takes each of the first values and refuses each of the second.
    pub(super) async fn member(&mut self, name: &str, good: &[Value], bad: &[Value]) {
        for value in good {
            let package = self.with(json!({ name: value }));
            self.takes(&package).await;
        }
        for value in bad {
            let package = self.with(json!({ name: value }));
            self.refuses(&package, name).await;
        }
    }
}
