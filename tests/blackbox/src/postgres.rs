//! A PostgreSQL database of its own for a test, on the server that the environment names. Where that is a NATS cluster, a
//! network of its own there: what holds for several processes on one database holds for several nodes.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

/// How the URLs of NATS servers begin.
pub(crate) const NATS: &str = "nats://";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A fresh, empty database. Call [`Database::remove`] at the end; a failed test leaves it for inspection.
#[derive(Debug)]
pub struct Database {
    admin: String,
    name: String,
    url: String,
}

impl Database {
    /// Creates it on the server at `admin`, the URL of any database there.
    pub async fn create(admin: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if admin.starts_with(NATS) {
            let name = format!("t-{}-{}-{number}", std::process::id(), crate::epoch_ms());
            return Self { admin: admin.to_owned(), url: format!("{admin}#{name}"), name };
        }
        let name = format!("plenary_blackbox_{}_{}_{number}", std::process::id(), crate::epoch_ms());
        execute(admin, &format!("CREATE DATABASE {name}")).await;
        Self { admin: admin.to_owned(), url: with_database(admin, &name), name }
    }

    /// The URL for `--database`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Drops the database, throwing out whoever is still connected.
    pub async fn remove(self) {
        if self.admin.starts_with(NATS) {
            return;
        }
        execute(&self.admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

/// `postgres://user@host:port/db?options` with another database name.
fn with_database(url: &str, name: &str) -> String {
    let (place, options) = url.split_once('?').map_or((url, None), |(place, options)| (place, Some(options)));
    let (scheme, rest) = place.split_once("://").expect("the PostgreSQL URL has a scheme");
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    let options = options.map(|options| format!("?{options}")).unwrap_or_default();
    format!("{scheme}://{authority}/{name}{options}")
}

async fn execute(url: &str, statement: &str) {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the PostgreSQL server answers");
    let driver = tokio::spawn(connection);
    client.batch_execute(statement).await.expect("the statement is allowed");
    drop(client);
    driver.await.expect("the driver ends").expect("the connection closes cleanly");
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn the_database_name_is_replaced_and_options_stay() {
        assert_eq!(
            with_database("postgres://a@h:1/x?sslmode=disable", "y"),
            "postgres://a@h:1/y?sslmode=disable"
        );
        assert_eq!(with_database("postgres://a@h:1", "y"), "postgres://a@h:1/y");
    }
}
