//! TLS to the server, as `sslmode` and `sslrootcert` ask for it: who is taken for the server, and who is not. The server
//! stands behind a front that ends TLS, with a certificate of a CA made for the test.

mod server;

use std::{path::PathBuf, sync::Arc};

use plenary_log_postgres::{OpenError, Options, open};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use server::{TestStore, fed, message, run, soon, stream, url};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_postgres::{Config, config::Host};
use tokio_rustls::TlsAcceptor;

/// The request of a client for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A CA, in a file.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    fn make(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a CA");
        let file = format!("tls-{name}-{}.pem", std::process::id());
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        std::fs::write(&file, issuer.pem()).expect("a file");
        Self { issuer, file }
    }

    /// TLS of a server with a certificate for `localhost` of this CA.
    fn acceptor(&self) -> TlsAcceptor {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a pair");
        TlsAcceptor::from(Arc::new(config))
    }

    fn file(&self) -> String {
        self.file.display().to_string()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A proxy to the server with TLS; without an acceptor it has none.
async fn front(acceptor: Option<TlsAcceptor>) -> u16 {
    let config: Config = url().parse().expect("the URL is well-formed");
    let [Host::Tcp(host)] = config.get_hosts() else { panic!("the test server must be reached by TCP") };
    let to = (host.clone(), config.get_ports().first().copied().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((peer, _)) = listener.accept().await {
            tokio::spawn(serve(peer, acceptor.clone(), to.clone()));
        }
    });
    port
}

async fn serve(mut peer: TcpStream, acceptor: Option<TlsAcceptor>, to: (String, u16)) -> std::io::Result<()> {
    let mut server = TcpStream::connect(to).await?;
    let mut first = [0; 8];
    peer.read_exact(&mut first).await?;
    if first != SSL_REQUEST {
        // A proxy with TLS refuses connections without it.
        if acceptor.is_none() {
            server.write_all(&first).await?;
            copy_bidirectional(&mut peer, &mut server).await?;
        }
        return Ok(());
    }
    let Some(acceptor) = acceptor else {
        peer.write_all(b"N").await?;
        return copy_bidirectional(&mut peer, &mut server).await.map(drop);
    };
    peer.write_all(b"S").await?;
    let mut peer = acceptor.accept(peer).await?;
    copy_bidirectional(&mut peer, &mut server).await.map(drop)
}

fn to(host: &str, port: u16, options: &str) -> String {
    let config: Config = url().parse().expect("the URL is well-formed");
    let user = config.get_user().unwrap_or("postgres");
    let password = config.get_password().map(String::from_utf8_lossy);
    let password = password.map(|password| format!(":{password}")).unwrap_or_default();
    let name = config.get_dbname().unwrap_or("postgres");
    format!("postgres://{user}{password}@{host}:{port}/{name}?{options}")
}

/// Appends over it, and receives the event from the feed.
async fn works(store: &TestStore, url: &str) {
    let mut opened = store.try_open(url).await.unwrap_or_else(|refused| panic!("{url}: {refused}"));
    soon(opened.log.append(message(&stream("a"), "said"))).await.expect("appended");
    soon(fed(&mut opened.feed, 1)).await;
}

async fn refused(url: &str) -> String {
    let Err(refused) = open(url, Options::default()).await else { panic!("{url} was taken") };
    assert!(matches!(refused, OpenError::Unreachable(_)), "{url}: {refused:?}");
    refused.to_string()
}

#[test]
fn a_server_is_trusted_as_far_as_it_proves_itself() {
    run(async {
        let store = TestStore::new();
        let (own, other) = (Authority::make("ours"), Authority::make("other"));
        let port = front(Some(own.acceptor())).await;
        let (own, other) = (own.file(), other.file());
        for (host, options) in [
            ("127.0.0.1", String::new()),
            ("127.0.0.1", "sslmode=prefer".to_owned()),
            ("127.0.0.1", "sslmode=require".to_owned()),
            ("127.0.0.1", format!("sslmode=require&sslrootcert={own}")),
            ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={own}")),
            ("localhost", format!("sslmode=verify-full&sslrootcert={own}")),
        ] {
            works(&store, &to(host, port, &options)).await;
        }
        for (host, options, why) in [
            ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={own}"), "not valid for name"),
            ("localhost", format!("sslmode=verify-full&sslrootcert={other}"), "certificate"),
            ("localhost", format!("sslmode=verify-ca&sslrootcert={other}"), "certificate"),
            ("localhost", format!("sslmode=require&sslrootcert={other}"), "certificate"),
        ] {
            let text = refused(&to(host, port, &options)).await;
            assert!(text.contains(why), "{options}: {text}");
        }
    });
}

#[test]
fn a_server_without_tls_is_refused_if_tls_is_required() {
    run(async {
        let store = TestStore::new();
        let port = front(None).await;
        works(&store, &to("127.0.0.1", port, "sslmode=prefer")).await;
        works(&store, &to("127.0.0.1", port, "sslmode=disable")).await;
        let own = Authority::make("unused");
        for options in
            ["sslmode=require".to_owned(), format!("sslmode=verify-full&sslrootcert={}", own.file())]
        {
            let text = refused(&to("localhost", port, &options)).await;
            assert!(text.contains("does not support TLS"), "{options}: {text}");
        }
    });
}

/// The variable with the CA file of a server that has TLS itself, with a certificate for `localhost`.
const CA: &str = "PLENARY_TEST_POSTGRES_CA";

#[test]
fn a_server_with_tls_of_its_own_is_verified() {
    run(async {
        let Some(ca) = std::env::var(CA).ok().filter(|file| !file.is_empty()) else { return };
        let config: Config = url().parse().expect("the URL is well-formed");
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let store = TestStore::new();
        works(&store, &to("localhost", port, &format!("sslmode=verify-full&sslrootcert={ca}"))).await;
        let admin = store.admin().await;
        let sql = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
            WHERE s.ssl AND a.application_name = $1";
        let opened = store
            .try_open(&to("localhost", port, &format!("sslmode=verify-full&sslrootcert={ca}")))
            .await
            .expect("the store opens");
        for purpose in ["write", "signal"] {
            let name = format!("plenary {purpose} {}", store.schema);
            let encrypted = async {
                while admin.query_one(sql, &[&name]).await.expect("an answer").get::<_, i64>(0) == 0 {
                    tokio::task::yield_now().await;
                }
            };
            soon(encrypted).await;
        }
        let other = Authority::make("stranger");
        let text =
            refused(&to("localhost", port, &format!("sslmode=verify-full&sslrootcert={}", other.file())))
                .await;
        assert!(text.contains("certificate"), "{text}");
        drop(opened);
    });
}
