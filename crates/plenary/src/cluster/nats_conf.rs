//! The configuration of a NATS server for journals.
//! Must not know: the servers, except its arguments.

use clap::Args;

use crate::out::Out;

/// One server of three, or a single one.
#[derive(Args)]
pub(crate) struct NatsConfArgs {
    /// Name of this server, unlike the others'
    #[arg(long, value_name = "NAME", default_value = "n1")]
    name: String,
    /// Where clients connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4222")]
    listen: String,
    /// Where the other servers connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6222")]
    routes_listen: String,
    /// The other servers, as this one reaches them: HOST:PORT of their --routes-listen; without any, this is a single server
    /// for `plenary serve --cluster-dev`
    #[arg(long = "route", value_name = "ADDR")]
    routes: Vec<String>,
    /// Directory of its data, on a local disk
    #[arg(long, value_name = "DIR", default_value = "/var/lib/nats")]
    store: String,
}

pub(super) fn print(args: &NatsConfArgs, out: &Out) -> anyhow::Result<()> {
    Ok(out.bytes(written(args).as_bytes())?)
}

/// Quotes a text: a JSON string is also a string in the configuration's language.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn written(args: &NatsConfArgs) -> String {
    let NatsConfArgs { name, listen, routes_listen, routes, store } = args;
    let [name, listen, routes_listen, store] = [name, listen, routes_listen, store].map(|text| quoted(text));
    let server = format!(
        "# A NATS server, 2.15 or newer, that keeps the journals of a Plenary cluster.\n\
         server_name: {name}\n\
         listen: {listen}\n\
         # A record may have 7 MiB.\n\
         max_payload: 8388608\n\
         max_pending: 67108864\n\
         jetstream {{\n  \
           store_dir: {store}\n  \
           # Acknowledged is on disk. The default flushes every two minutes, and a power cut of all three loses the journal.\n  \
           sync_interval: always\n\
         }}\n"
    );
    if routes.is_empty() {
        // A server with a cluster and no route does not start its journals.
        return server;
    }
    let routes: String =
        routes.iter().map(|route| format!("\n    {}", quoted(&format!("nats://{route}")))).collect();
    format!(
        "{server}\
         cluster {{\n  \
           name: \"plenary\"\n  \
           listen: {routes_listen}\n  \
           routes: [{routes}\n  ]\n\
         }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_writes_are_flushed() {
        let conf = written(&NatsConfArgs {
            name: "n\"1".into(),
            listen: "0.0.0.0:4222".into(),
            routes_listen: "0.0.0.0:6222".into(),
            routes: vec!["b:6222".into(), "c:6222".into()],
            store: "/var/lib/nats".into(),
        });
        assert!(conf.contains("server_name: \"n\\\"1\"\n"), "{conf}");
        assert!(conf.contains("routes: [\n    \"nats://b:6222\"\n    \"nats://c:6222\"\n  ]"), "{conf}");
        assert!(conf.contains("sync_interval: always\n"), "{conf}");
    }

    #[test]
    fn a_single_server_has_no_cluster() {
        let conf = written(&NatsConfArgs {
            name: "n1".into(),
            listen: "127.0.0.1:4222".into(),
            routes_listen: "127.0.0.1:6222".into(),
            routes: Vec::new(),
            store: "/var/lib/nats".into(),
        });
        assert!(conf.ends_with("sync_interval: always\n}\n") && !conf.contains("cluster {"), "{conf}");
    }
}
