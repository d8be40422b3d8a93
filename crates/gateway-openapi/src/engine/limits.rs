/// How often a tool may be called (E-26): a token bucket that starts full. Each tool has its own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RateLimit {
    /// Calls that are added each second. Not above zero: no limit.
    pub per_second: f64,
    /// The most calls at once. Zero: no limit.
    pub burst: u32,
}
