//! Server-sent events: the changes of a session, and the older log line by line.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::hub::Subscription;
use super::view::{ReaderPosition, SessionView, ViewEvent};
use crate::store::StoreError;

/// The first bytes of a stream: they make the browser report that it is open.
const READY: &str = ": ready\n\n";

/// How much is sent to a reader, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamPace {
    /// The longest silence. After that a comment is sent, so that no proxy considers the connection dead.
    pub(super) ping: Duration,
    /// The shortest time between two sends.
    pub(super) pause: Duration,
    /// About the number of bytes written at a time. No more is kept for a reader.
    pub(super) chunk: usize,
    /// A reader that was up to date and has been more than this many bytes behind for `patience` starts over.
    pub(super) behind: usize,
    pub(super) patience: Duration,
}

impl Default for StreamPace {
    fn default() -> Self {
        Self {
            ping: Duration::from_secs(15),
            pause: Duration::from_millis(20),
            chunk: 64 << 10,
            behind: 1 << 20,
            patience: Duration::from_secs(5),
        }
    }
}

/// The start of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayStart {
    /// After this revision.
    After(u64),
    /// The reader has a page with other settings or of another program version, and must reload it.
    Anew,
}

/// A body whose pieces are written when the connection accepts them, so that a reader that stops reading costs no memory.
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

fn with_headers(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    // A proxy that buffers the response would delay events.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The format of a stream.
#[derive(Clone, Copy, Debug)]
enum StreamForm {
    /// Typed changes of the page.
    Changes,
    /// The lines of a profile that writes lines, for older dashboards.
    Lines,
}

impl StreamForm {
    /// Writes the next changes, about a chunk of them. Returns whether the stream ends there.
    fn spell(
        self,
        view: &SessionView,
        hash: &str,
        pace: StreamPace,
        reader: &mut ReaderPosition,
        out: &mut String,
    ) -> Result<bool, StoreError> {
        let is_left_behind = view.is_left_behind(reader, pace.behind, pace.patience, Instant::now())?;
        Ok(match self {
            Self::Changes if is_left_behind => {
                spell(&resync(view), hash, out);
                true
            }
            Self::Changes => {
                let events = view.take(reader, pace.chunk)?;
                for event in &events {
                    spell(event, hash, out);
                }
                events.iter().any(|event| event.name == "done")
            }
            // This format has no way to start over, so the stream breaks off.
            Self::Lines if is_left_behind => true,
            Self::Lines => {
                let (lines, is_done) = view.take_lines(reader, pace.chunk)?;
                for line in lines {
                    // A carriage return would end the line as well.
                    out.extend(["data: ", &line.replace('\r', "␍"), "\n\n"]);
                }
                if is_done {
                    out.push_str("event: done\ndata: done\n\n");
                }
                is_done
            }
        })
    }
}

fn spell(event: &ViewEvent, hash: &str, out: &mut String) {
    // JSON on one line has no line feed and no carriage return. Writing to a string can't fail.
    let _ = write!(out, "event: {}\nid: {hash}:{}\ndata: {}\n\n", event.name, event.revision, event.data);
}

fn resync(view: &SessionView) -> ViewEvent {
    ViewEvent { name: "resync", revision: view.settled(), data: json!({"v": 1}) }
}

/// The changes of a session as a stream.
pub(super) fn changes(
    reading: Subscription,
    start: ReplayStart,
    pace: StreamPace,
    stop: watch::Receiver<bool>,
) -> Response {
    let ReplayStart::After(since) = start else {
        let revision = reading.live.state().revision;
        let mut text = String::from(READY);
        let event = ViewEvent { name: "resync", revision, data: json!({"v": 1}) };
        spell(&event, &reading.live.hash, &mut text);
        return with_headers(Body::from(text));
    };
    stream(reading, StreamForm::Changes, since, pace, stop)
}

/// The lines of a session as a stream: `data:` each, then `event: done`.
pub(super) fn lines(reading: Subscription, pace: StreamPace, stop: watch::Receiver<bool>) -> Response {
    stream(reading, StreamForm::Lines, 0, pace, stop)
}

fn stream(
    reading: Subscription,
    form: StreamForm,
    since: u64,
    pace: StreamPace,
    stop: watch::Receiver<bool>,
) -> Response {
    let (send, pieces) = mpsc::channel(1);
    tokio::spawn(async move { send_all(&reading, form, since, pace, stop, send).await });
    with_headers(Body::new(BodyPieces(pieces)))
}

/// Sends everything after a revision as it comes, until the session ends, the reader leaves, or the server stops.
async fn send_all(
    reading: &Subscription,
    form: StreamForm,
    since: u64,
    pace: StreamPace,
    mut stop: watch::Receiver<bool>,
    send: mpsc::Sender<Bytes>,
) {
    let live = &reading.live;
    let mut changes = live.changes();
    let mut reader = ReaderPosition::at(since);
    let mut last_sent = Instant::now();
    let mut text = READY.to_owned();
    let mut is_first = matches!(form, StreamForm::Changes);
    loop {
        changes.borrow_and_update();
        let (shared, begun, says_facts) = (Arc::clone(live), text, std::mem::take(&mut is_first));
        // The view is on the disk, and its session may be writing to it.
        let spelled = tokio::task::spawn_blocking(move || {
            let (view, mut text, mut reader) = (shared.view(), begun, reader);
            if says_facts && !view.card.is_empty() {
                // The facts also change without a line, so a reader may lack them although it has every revision.
                spell(&ViewEvent { revision: since, ..view.facts_event() }, &shared.hash, &mut text);
            }
            let is_done = form.spell(&view, &shared.hash, pace, &mut reader, &mut text)?;
            Ok::<_, StoreError>((text, reader, is_done))
        });
        // Without its view, a stream breaks off.
        let Ok(Ok((written, position, is_done))) = spelled.await else { return };
        (text, reader) = (written, position);
        let is_all = text.len() < pace.chunk;
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
            news = timeout(pace.ping.saturating_sub(last_sent.elapsed()), changes.changed()) => match news {
                Ok(Ok(())) => tokio::time::sleep(pace.pause.saturating_sub(last_sent.elapsed())).await,
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

#[cfg(test)]
mod tests;
