use std::time::Duration;

/// The bounds of an audit log (P-9).
#[derive(Debug, Clone)]
pub struct AuditConfig {
    /// How many records may wait to be written, those included that calls in flight may need. At least 2. 10,000.
    pub queue: usize,
    /// The share of the queue that records of success may fill, above 0 and at most 1; at least one place is left to
    /// others. Calls in flight hold places of the rest, so it should have one for each. 0.85.
    pub high_water: f64,
    /// The share of what records of success may fill that refusals at the door fill at the most, from 0 to 1, and at
    /// least one place. 0.1.
    pub door_share: f64,
    /// How many records are written together at the latest. 100.
    pub flush_records: usize,
    /// How long a record waits for others to be written with. 50 ms.
    pub flush_interval: Duration,
    /// How often what was written is made durable. 1 s.
    pub fsync_interval: Duration,
    /// What becomes of records of success beyond the high-water mark. Shed.
    pub overflow: Overflow,
    /// How long a call waits for a place in the queue before it is refused (P-60). 250 ms.
    pub security_wait: Duration,
    /// How long after an error of a sink it is tried again. 1 s.
    pub retry_interval: Duration,
    /// How long [`AuditLog::close`](super::AuditLog::close) waits for the sinks. 5 s.
    pub close_wait: Duration,
}

/// What becomes of a record of success if its part of the queue is full (P-59).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is dropped and counted.
    Shed,
    /// The answer waits for room, and after so long the record is dropped and counted (P-W11).
    Block(Duration),
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            queue: 10_000,
            high_water: 0.85,
            door_share: 0.1,
            flush_records: 100,
            flush_interval: Duration::from_millis(50),
            fsync_interval: Duration::from_secs(1),
            overflow: Overflow::Shed,
            security_wait: Duration::from_millis(250),
            retry_interval: Duration::from_secs(1),
            close_wait: Duration::from_secs(5),
        }
    }
}
