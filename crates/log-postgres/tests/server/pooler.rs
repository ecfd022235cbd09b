//! A pooler with one connection to the server: its clients use it in turn, each for a transaction.

use std::{io::Result, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
};

use super::relay::{test_server, through};

/// A message whose answer ends with [`READY`]: a simple query, or the end of an extended one.
const ANSWERED: [u8; 2] = *b"QS";
/// The client leaves; its pooled connection stays.
const TERMINATE: u8 = b'X';
/// The server is ready for the next statement; the last byte says whether a transaction is open.
const READY: u8 = b'Z';
const NO_TRANSACTION: u8 = b'I';
const AUTHENTICATION: u8 = b'R';
/// The kinds of authentication messages that want no answer: the end of it, and the server's proof before that.
const UNANSWERED: [u32; 2] = [0, 12];

/// The connection to the server, and what the server said when it was made.
struct Pooled {
    server: TcpStream,
    greeting: Vec<u8>,
}

/// Starts a pooler; returns its URL.
pub(crate) async fn start() -> String {
    let (config, server) = test_server();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = listener.local_addr().expect("the port is known").port();
    tokio::spawn(async move {
        let pooled = Arc::new(Mutex::new(None));
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, server.clone(), pooled.clone()));
        }
    });
    through(&config, port)
}

async fn serve(
    mut client: TcpStream,
    server: (String, u16),
    pooled: Arc<Mutex<Option<Pooled>>>,
) -> Result<()> {
    let startup = rest_of_message(&mut client, Vec::new()).await?;
    {
        let mut pooled = pooled.lock().await;
        match &*pooled {
            Some(pooled) => client.write_all(&pooled.greeting).await?,
            None => *pooled = Some(connected(&mut client, &startup, server).await?),
        }
    }
    loop {
        let first = message(&mut client).await?;
        if first[0] == TERMINATE {
            return Ok(());
        }
        if let Some(pooled) = &mut *pooled.lock().await {
            transaction(&mut client, &mut pooled.server, first).await?;
        }
    }
}

/// The first client signs in; later ones get the end of what it was told.
async fn connected(client: &mut TcpStream, startup: &[u8], server: (String, u16)) -> Result<Pooled> {
    let mut server = TcpStream::connect(server).await?;
    server.write_all(startup).await?;
    let mut greeting = Vec::new();
    loop {
        let told = message(&mut server).await?;
        client.write_all(&told).await?;
        if told[0] == AUTHENTICATION {
            let kind = u32::from_be_bytes([told[5], told[6], told[7], told[8]]);
            if !UNANSWERED.contains(&kind) {
                let answer = message(client).await?;
                server.write_all(&answer).await?;
                continue;
            }
            if kind != 0 {
                continue;
            }
        }
        greeting.extend_from_slice(&told);
        if told[0] == READY {
            return Ok(Pooled { server, greeting });
        }
    }
}

/// Relays messages until everything is answered and no transaction is open.
async fn transaction(client: &mut TcpStream, server: &mut TcpStream, first: Vec<u8>) -> Result<()> {
    let mut unanswered = usize::from(ANSWERED.contains(&first[0]));
    server.write_all(&first).await?;
    let mut is_open = true;
    let (mut said, mut answered) = ([0], [0]);
    while unanswered > 0 || is_open {
        let client_speaks = tokio::select! {
            peeked = client.peek(&mut said) => peeked.map(|_| true)?,
            peeked = server.peek(&mut answered) => peeked.map(|_| false)?,
        };
        if client_speaks {
            let said = message(client).await?;
            unanswered += usize::from(ANSWERED.contains(&said[0]));
            server.write_all(&said).await?;
        } else {
            let answer = message(server).await?;
            client.write_all(&answer).await?;
            if answer[0] == READY {
                unanswered -= 1;
                is_open = answer.last() != Some(&NO_TRANSACTION);
            }
        }
    }
    Ok(())
}

/// The next message with its type.
async fn message(from: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>> {
    let kind = from.read_u8().await?;
    rest_of_message(from, vec![kind]).await
}

/// The length and the body of a message, behind what is read of it.
async fn rest_of_message(from: &mut (impl AsyncRead + Unpin), mut read: Vec<u8>) -> Result<Vec<u8>> {
    let length = from.read_u32().await?;
    read.extend_from_slice(&length.to_be_bytes());
    let body = usize::try_from(length).expect("it fits").saturating_sub(4);
    let from_body = read.len();
    read.resize(from_body + body, 0);
    from.read_exact(&mut read[from_body..]).await?;
    Ok(read)
}
