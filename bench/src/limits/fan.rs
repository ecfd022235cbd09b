//! `fan1` and `fan64`: messages of one publisher to many receivers over raw TCP, one write for at most so many
//! messages that came together. Must not know: a disk, or a protocol.

use anyhow::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(super) async fn serve(receivers: usize, batch: usize, bytes: usize) -> Result<()> {
    let publishers = TcpListener::bind("127.0.0.1:0").await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[publishers.local_addr()?, listener.local_addr()?])?;
    let mut streams = Vec::with_capacity(receivers);
    for _ in 0..receivers {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let (publisher, _) = publishers.accept().await?;
    // A task of its own, so that it runs where the sockets are polled.
    tokio::spawn(fan_out(publisher, streams, batch, bytes)).await?
}

async fn fan_out(
    mut publisher: TcpStream,
    mut receivers: Vec<TcpStream>,
    batch: usize,
    bytes: usize,
) -> Result<()> {
    let mut buffer = vec![0; batch * bytes];
    let mut filled = 0;
    loop {
        let read = publisher.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let whole = filled - filled % bytes;
        if whole == 0 {
            continue;
        }
        for receiver in &mut receivers {
            receiver.write_all(&buffer[..whole]).await?;
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}
