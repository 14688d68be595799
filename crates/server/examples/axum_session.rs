//! Sends sessions of a folder to a browser or to `curl`, formatted while they are read:
//! `cargo run -p streamfmt-server --example axum_session -- FOLDER`, and then `curl -N localhost:3000/sessions/NAME.jsonl`

use std::fs::File;
use std::io::{self, Read};
use std::mem::take;
use std::path::PathBuf;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use streamfmt::{Engine, Pipeline};
use tokio::sync::mpsc::{self, Sender};
use tokio::task::spawn_blocking;

/// Pieces of text that wait for a client: with more than that the pipeline waits, so a slow client costs no memory.
const WAITING: usize = 4;

/// The sessions of a folder, formatted by an engine.
pub(crate) fn routes(engine: Engine, folder: PathBuf) -> Router {
    Router::new().route("/sessions/{name}", get(session)).with_state((engine, folder))
}

async fn session(
    State((engine, folder)): State<(Engine, PathBuf)>,
    Path(name): Path<String>,
) -> Result<Response, StatusCode> {
    // Nothing outside of the folder is read.
    if name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        return Err(StatusCode::NOT_FOUND);
    }
    let opened = spawn_blocking(move || File::open(folder.join(name))).await;
    let file = opened.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?.map_err(|_| StatusCode::NOT_FOUND)?;
    let (pieces, receiver) = mpsc::channel(WAITING);
    // Formatting takes a thread of its own, which makes the pipeline: with plugins in Lua it can't go to another one.
    spawn_blocking(move || {
        if let Err(error) = format(&engine, file, &pieces) {
            // The client learns that this isn't all.
            let _ = pieces.blocking_send(Err(error));
        }
    });
    let body = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], Body::from_stream(body)).into_response())
}

/// Formats all of `input`, as long as somebody takes the text.
fn format(engine: &Engine, mut input: impl Read, pieces: &Sender<io::Result<Bytes>>) -> io::Result<()> {
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    let mut buffer = [0; 16 * 1024];
    loop {
        let length = input.read(&mut buffer)?;
        let done = match length {
            0 => pipeline.finish(&mut text),
            _ => pipeline.push(&buffer[..length], &mut text),
        };
        done.map_err(io::Error::other)?;
        // This waits for a slow client, and fails when the client is gone.
        let is_gone = !text.is_empty() && pieces.blocking_send(Ok(take(&mut text).into())).is_err();
        if length == 0 || is_gone {
            return Ok(());
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: axum_session FOLDER")?;
    let engine = Engine::builder().writer("text").build()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, routes(engine, folder.into())).await?)
}
