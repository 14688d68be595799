//! Server-sent events: the changes of a session, and the older log line by line.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::hub::Reading;
use super::view::{ReaderPosition, ViewEvent};
use crate::store::SessionStatus;

/// A comment is sent so often, so that nobody in between takes the connection for dead.
const PING: Duration = Duration::from_secs(15);
/// Bytes that are spelled at a time: all that is kept for a reader.
const CHUNK: usize = 64 << 10;
/// A reader that had everything, is more than this behind, and for longer than [`PATIENCE`], had better begin again.
const BEHIND: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(5);
/// How often changes are sent at most.
const PACE: Duration = Duration::from_millis(20);

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayStart {
    /// Behind this revision.
    After(u64),
    /// What the reader has was made otherwise: it begins again.
    Anew,
}

/// The body of a stream. What is sent is asked for piece by piece, so that nothing is kept for one who doesn't read.
pub(super) struct BodyPieces(pub(super) mpsc::Receiver<Bytes>);

impl hyper::body::Body for BodyPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

fn response(pieces: mpsc::Receiver<Bytes>) -> Response {
    let mut response = Body::new(BodyPieces(pieces)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn spell(event: &ViewEvent, hash: &str, out: &mut String) {
    // JSON on one line holds no line feed, and no carriage return.
    // A string takes everything.
    let _ = write!(out, "event: {}\nid: {hash}:{}\ndata: {}\n\n", event.name, event.revision, event.data);
}

/// The changes of a session as a stream.
pub(super) fn changes(reading: Reading, start: ReplayStart, stop: watch::Receiver<bool>) -> Response {
    let (send, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        send_changes(reading, start, stop, send).await;
    });
    response(pieces)
}

async fn send_changes(
    reading: Reading,
    start: ReplayStart,
    mut stop: watch::Receiver<bool>,
    send: mpsc::Sender<Bytes>,
) {
    let live = &reading.live;
    let mut changes = live.changes();
    let resync = |revision| ViewEvent { name: "resync", revision, data: json!({"v": 1}) };
    let ReplayStart::After(since) = start else {
        let mut text = String::new();
        spell(&resync(live.view().settled()), &live.hash, &mut text);
        let _ = send.send(text.into()).await;
        return;
    };
    let mut reader = ReaderPosition::at(since);
    let mut last_sent = Instant::now();
    let mut text = String::from(": ready\n\n");
    {
        let view = live.view();
        if !view.card.is_empty() {
            // It may have changed without a line that was read.
            let data = json!({"v": 1, "status": view.status.map(SessionStatus::name), "html": view.facts()});
            spell(&ViewEvent { name: "facts", revision: since, data }, &live.hash, &mut text);
        }
    }
    loop {
        changes.borrow_and_update();
        let mut is_done = false;
        {
            let view = live.view();
            if view.is_left_behind(&reader, BEHIND, PATIENCE) {
                spell(&resync(view.settled()), &live.hash, &mut text);
                is_done = true;
            } else {
                for event in view.take(&mut reader, CHUNK) {
                    spell(&event, &live.hash, &mut text);
                    is_done |= event.name == "done";
                }
            }
        }
        let is_all = text.len() < CHUNK;
        if !text.is_empty() {
            last_sent = Instant::now();
            if send.send(std::mem::take(&mut text).into()).await.is_err() {
                return;
            }
        }
        if is_done {
            return;
        }
        if !is_all {
            continue;
        }
        tokio::select! {
            news = timeout(PING.saturating_sub(last_sent.elapsed()), changes.changed()) => match news {
                Ok(Ok(())) => tokio::time::sleep(PACE).await,
                Ok(Err(_)) => return,
                Err(_) => text.push_str(": ping\n\n"),
            },
            () = super::stopped(&mut stop) => {
                let _ = send.send(Bytes::from_static(b"retry: 1000\n\n")).await;
                return;
            }
            () = send.closed() => return,
        }
    }
}

/// The lines of a session as a stream: `data:` each, then `event: done`.
pub(super) fn lines(reading: Reading, stop: watch::Receiver<bool>) -> Response {
    let (send, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        send_lines(reading, stop, send).await;
    });
    response(pieces)
}

async fn send_lines(reading: Reading, mut stop: watch::Receiver<bool>, send: mpsc::Sender<Bytes>) {
    let live = &reading.live;
    let mut changes = live.changes();
    let mut reader = ReaderPosition::at(0);
    let mut last_sent = Instant::now();
    let mut text = String::from(": ready\n\n");
    loop {
        changes.borrow_and_update();
        let (lines, mut is_done, is_behind) = {
            let view = live.view();
            let is_behind = view.is_left_behind(&reader, BEHIND, PATIENCE);
            let (lines, is_done) = view.take_lines(&mut reader, CHUNK);
            (lines, is_done, is_behind)
        };
        if is_behind {
            return;
        }
        for line in lines {
            // A carriage return would end the line as well.
            text.extend(["data: ", &line.replace('\r', "␍"), "\n\n"]);
        }
        if is_done {
            text.push_str("event: done\ndata: done\n\n");
        }
        let is_all = text.len() < CHUNK;
        if !text.is_empty() {
            last_sent = Instant::now();
            is_done |= send.send(std::mem::take(&mut text).into()).await.is_err();
        }
        if is_done {
            return;
        }
        if !is_all {
            continue;
        }
        tokio::select! {
            news = timeout(PING.saturating_sub(last_sent.elapsed()), changes.changed()) => match news {
                Ok(Ok(())) => tokio::time::sleep(PACE).await,
                Ok(Err(_)) => return,
                Err(_) => text.push_str(": ping\n\n"),
            },
            () = super::stopped(&mut stop) => {
                let _ = send.send(Bytes::from_static(b"retry: 1000\n\n")).await;
                return;
            }
            () = send.closed() => return,
        }
    }
}
