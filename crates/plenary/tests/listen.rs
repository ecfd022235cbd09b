//! `plenary listen` as a program reads it: one event a line, over a break of the connection, until it is told to
//! stop.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod stage;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use futures_util::{SinkExt, StreamExt};
use rustix::{
    io::ioctl_fionread,
    pipe::fcntl_setpipe_size,
    process::{Pid, Signal, kill_process},
};
use stage::Home;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_tungstenite::{
    accept_async,
    tungstenite::{Message, protocol::CloseFrame},
};

fn frame(sequence: u64) -> String {
    format!(
        r#"{{"type":"session.ended","session_id":"sess_A","event_id":"evt_{sequence}","sequence":{sequence},"created_at":1,"payload":{{}}}}"#
    )
}

/// Sends 1, breaks, sends 1 and 2; tells the code of the close it gets.
async fn server() -> (String, mpsc::Receiver<u16>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        for n in 0.. {
            let mut ws = accept_async(listener.accept().await.unwrap().0).await.unwrap();
            ws.send(Message::text(frame(1))).await.unwrap();
            if n == 0 {
                ws.close(Some(CloseFrame { code: 1001.into(), reason: "restart".into() })).await.unwrap();
            } else {
                ws.send(Message::text(frame(2))).await.unwrap();
            }
            while let Some(Ok(message)) = ws.next().await {
                if let (Message::Close(Some(frame)), true) = (message, n > 0) {
                    sender.send(frame.code.into()).await.unwrap();
                }
            }
        }
    });
    (url, receiver)
}

fn stop(child: &Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_prints_each_event_once_and_stops_cleanly_when_told() {
    for (name, signal) in [("listen-int", Signal::INT), ("listen-term", Signal::TERM)] {
        let (url, mut close_codes) = server().await;
        let home = Home::new(name);
        let mut command = home.plenary(&url);
        command.args(["listen", "--json", "--token", "pla_x"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let lines = tokio::task::spawn_blocking(move || {
            BufReader::new(out).lines().take(2).map(Result::unwrap).collect::<Vec<_>>()
        });
        assert_eq!(lines.await.unwrap(), [frame(1), frame(2)]);
        stop(&child, signal);
        assert_eq!(close_codes.recv().await, Some(1000));
        let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
        assert_eq!(output.status.code(), Some(0));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("restart") && stderr.matches("connected; stop").count() == 2, "{stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stopped_reading_does_not_keep_it_from_stopping() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let home = Home::new("listen-stalled");
    let mut command = home.plenary(&url);
    command.args(["listen", "--json", "--token", "pla_x"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut ws = accept_async(listener.accept().await.unwrap().0).await.unwrap();
    // More than pipe and socket take; the sending stalls once nothing is read any more.
    let pipe = child.stdout.take().unwrap();
    let room = u64::try_from(fcntl_setpipe_size(&pipe, 4096).unwrap()).unwrap();
    let mut sequence = 0;
    let fill = async {
        loop {
            sequence += 1;
            ws.send(Message::text(frame(sequence))).await.unwrap();
        }
    };
    let full = async {
        while ioctl_fionread(&pipe).unwrap() + frame(1).len() as u64 + 10 < room {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = fill => unreachable!("the sending never ends"),
        () = full => {}
    }
    stop(&child, Signal::TERM);
    let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert_eq!(status.code(), Some(0));
}
