//! One connection of a client, in the version of HTTP that it speaks.

use std::{convert::Infallible, pin::pin, sync::Arc};

use crate::{
    body::Serving,
    config::Limits,
    edge::{Edge, Phase},
    face::{Activity, Face, Watched},
    tls::{Peer, Stream},
};
use http::header::CONNECTION;
use hyper::{server::conn::http1::Builder, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulConnection},
};

/// What hyper allocates for on the stack.
const DEFAULT_FIELDS: usize = 100;
/// The most that the fields of a request's head may take in HTTP/2, where a few bytes can stand for many
/// (security.md §2.7).
const HEADER_LIST_BYTES: usize = 16 << 10;
/// What a peer may send ahead of us, for each request and in all.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
/// What a response may be ahead of its peer.
const SEND_BUFFER: usize = 64 << 10;
/// Requests that were taken back before they were looked at, and requests that were refused as malformed:
/// a peer with more of either is sent away (CVE-2023-44487, CVE-2025-8671).
const PENDING_RESETS: usize = 20;
const MALFORMED_REQUESTS: usize = 100;

/// Serves one connection until it ends. A panic ends this one only.
pub(crate) async fn serve(face: Arc<Face>, stream: impl Stream, peer: Peer) {
    let edge = face.edge.clone();
    // A connection keeps the limits that it began with.
    let rules = edge.rules();
    let limits = &rules.config.limits;
    let activity = Arc::new(Activity::default());
    let stream = TokioIo::new(Watched::new(stream, activity.clone(), limits.clone()));
    let service = service_fn(|request: hyper::Request<_>| {
        let (face, serving) = (face.clone(), Serving::new(activity.clone(), request.version()));
        let activity = activity.clone();
        async move {
            let response = face.answer(request, peer).await;
            if response.headers().contains_key(CONNECTION) {
                activity.linger();
            }
            Ok::<_, Infallible>(response.map(|body| body.during(serving)))
        }
    });
    if rules.config.http2 {
        let builder = http1_and_2(limits);
        tokio::select! {
            ended = run(&edge, builder.serve_connection(stream, service)) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection failed");
                }
            }
            () = activity.stalls(limits.write_stall) => tracing::debug!("a peer leaves a stream unread"),
        }
    } else if let Err(error) = run(&edge, http1(limits).serve_connection(stream, service)).await {
        if error.is_parse_version_h2() {
            // Closed without an answer: there is none that such a client would read.
            edge.metrics.refused("http_version");
        }
        tracing::debug!(%error, "a connection failed");
    }
}

/// Runs a connection to its end, which comes as soon as it may once the gateway drains.
async fn run<C: GracefulConnection>(edge: &Edge, connection: C) -> Result<(), C::Error> {
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended,
        () = edge.reaches(Phase::Draining) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

/// How large a connection's read buffer may grow, if its peer sends that much at once: a body that fits
/// arrives in one piece, which is not copied. The head has a limit of its own.
const READ_BUFFER: usize = 128 << 10;

fn http1(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder.header_read_timeout(None).max_buf_size(limits.header_bytes.max(READ_BUFFER));
    if limits.header_fields != DEFAULT_FIELDS {
        builder.max_headers(limits.header_fields);
    }
    builder
}

/// HTTP/2 is for peers that begin with its preface.
fn http1_and_2(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(None).max_buf_size(limits.header_bytes.max(READ_BUFFER));
    if limits.header_fields != DEFAULT_FIELDS {
        builder.http1().max_headers(limits.header_fields);
    }
    let header_list = limits.header_bytes.min(HEADER_LIST_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(u32::try_from(header_list).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_local_error_reset_streams(MALFORMED_REQUESTS)
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.write_stall);
    builder
}
