use std::time::Duration;

/// The bounds of security.md §3.3 that belong to this edge.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections in all; more are closed at accept. Default 1,024.
    pub connections: usize,
    /// Open connections from one address. Default 256.
    pub connections_per_peer: usize,
    /// Bytes of a request's head, which is counted to the byte; more, or in HTTP/2 more than 16 KiB, is
    /// answered 431. Less than 8,192 cannot be had and is refused at start. Default 32 KiB.
    pub header_bytes: usize,
    /// Header fields of a request; more is answered 431. Default 100.
    pub header_fields: usize,
    /// Requests at one time on a connection of HTTP/2; a client keeps more to itself. Default 100.
    pub http2_streams: u32,
    /// From the first byte of a request's head to its last. Default 10 s.
    pub header_time: Duration,
    /// How long a connection may carry nothing between two requests. Default 75 s.
    pub idle_time: Duration,
    /// How long a peer may leave written bytes unread. Default 30 s.
    pub write_stall: Duration,
    /// Bytes of a request's body; more is answered 413. Also the longest line over stdio. Default 4 MiB.
    pub body_bytes: usize,
    /// How long a body may take to arrive, then 408. Default 30 s.
    pub body_time: Duration,
    /// Bytes of all bodies that are held at one time; more is answered 503. Default 256 MiB.
    pub buffered_bytes: usize,
    /// Requests in flight of one caller; more is answered 429. Default 64. One whose answer is larger than
    /// 64 KiB is in flight until the answer has been written. This and the other limits for one
    /// caller hold for configured clients and for the client at the other end of stdio. Over HTTP without
    /// clients nobody can be told from anybody else, and only the limits for all hold.
    pub in_flight_per_caller: usize,
    /// Users of tokens that are remembered, with what they have running; beyond it whoever has been away for longest
    /// makes room, and if all have something running, new ones are answered 503. Default 10,000.
    pub users: usize,
    /// Requests in flight in all; more is answered 503. Default 1,024.
    pub in_flight: usize,
    /// Legacy sessions in all; beyond it the longest idle one makes room, else 503. Default 10,000.
    pub sessions: usize,
    /// Legacy sessions of one configured client, likewise. Default 100.
    pub sessions_per_caller: usize,
    /// How long a legacy session lives unused. Default 30 min.
    pub session_idle: Duration,
    /// How long a legacy session lives at all. Default 24 h.
    pub session_lifetime: Duration,
    /// Streams of change events in all; more is answered 503. Default 1,024.
    pub listens: usize,
    /// Streams of change events of one caller, of which a legacy session has one at most; more is answered
    /// 429. Default 16.
    pub listens_per_caller: usize,
    /// Resources that one modern stream of change events watches; the others are not granted. Default 100.
    pub subscriptions_per_listen: usize,
    /// Resources that one legacy session watches; more are refused. Default 100.
    pub subscriptions_per_session: usize,
    /// Messages on one stream of a legacy session that are kept for a client whose connection breaks. Default 256.
    pub replay_events: usize,
    /// Bytes of those; the last message is kept in any case. Default 256 KiB.
    pub replay_bytes: usize,
    /// Bytes of those of all streams together, likewise. Default 64 MiB.
    pub replay_total_bytes: usize,
    /// Streams of requests of one legacy session that its client can go on with; beyond it the oldest cannot be
    /// gone on with. Default 16.
    pub replay_streams: usize,
    /// How long the stream of a request is kept after its end. Default 60 s.
    pub replay_time: Duration,
    /// What clients are told to wait before they go on with a stream. Default 1 s.
    pub retry: Duration,
    /// How often one call of a legacy client may ask it something before the call is given up. Default 10.
    pub question_rounds: usize,
    /// How long a client may take to answer what it was asked: a legacy one the question, a modern one with its next
    /// request. Default 10 min.
    pub question_time: Duration,
    /// Progress and log messages of one call that wait for a slow client; more are dropped. Default 64.
    pub event_queue: usize,
    /// Bytes of those together; what does not fit is dropped. Default 1 MiB.
    pub event_queue_bytes: usize,
    /// Progress and log messages of one call in all; more are dropped. Default 10,000.
    pub events_per_call: usize,
    /// Progress and log messages of one call in any one second; more are dropped. Default 200.
    pub events_per_second: usize,
    /// Pages for people that are being made at one time; more is answered 503. Default 64.
    pub pages: usize,
    /// Bytes of a form that a page sends; more is answered 413. Default 16 KiB.
    pub form_bytes: usize,
    /// How long a page may take to be made, then 504. Default 60 s.
    pub page_time: Duration,
    /// How often a quiet stream gets a comment, so that nobody on the way closes it. Default 15 s.
    pub keep_alive: Duration,
    /// How long requests in flight may go on after a shutdown was asked for. Then they are told that it
    /// shuts down, and one second later connections are closed. Default 30 s.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_peer: 256,
            header_bytes: 32 << 10,
            header_fields: 100,
            http2_streams: 100,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            body_bytes: 4 << 20,
            body_time: Duration::from_secs(30),
            buffered_bytes: 256 << 20,
            in_flight_per_caller: 64,
            users: 10_000,
            in_flight: 1024,
            sessions: 10_000,
            sessions_per_caller: 100,
            session_idle: Duration::from_secs(30 * 60),
            session_lifetime: Duration::from_secs(24 * 60 * 60),
            listens: 1024,
            listens_per_caller: 16,
            subscriptions_per_listen: 100,
            subscriptions_per_session: 100,
            replay_events: 256,
            replay_bytes: 256 << 10,
            replay_total_bytes: 64 << 20,
            replay_streams: 16,
            replay_time: Duration::from_secs(60),
            retry: Duration::from_secs(1),
            question_rounds: 10,
            question_time: Duration::from_secs(600),
            event_queue: 64,
            event_queue_bytes: 1 << 20,
            events_per_call: 10_000,
            events_per_second: 200,
            pages: 64,
            form_bytes: 16 << 10,
            page_time: Duration::from_secs(60),
            keep_alive: Duration::from_secs(15),
            drain: Duration::from_secs(30),
        }
    }
}
