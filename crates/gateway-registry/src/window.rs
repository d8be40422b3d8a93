use tokio::time::Instant;

/// How outcomes of the last ten seconds are shared out among good and bad, a second at a time.
#[derive(Debug)]
pub(crate) struct Window {
    began: Instant,
    /// The second that is being counted, since `began`.
    latest: u64,
    /// Each second in the place of its number.
    seconds: [Tally; Self::SECONDS as usize],
    /// All of them together.
    total: Tally,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    good: u32,
    bad: u32,
    /// Those of the bad that were not just slow.
    hard: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.good = self.good.saturating_add(other.good);
        self.bad = self.bad.saturating_add(other.bad);
        self.hard = self.hard.saturating_add(other.hard);
    }

    fn subtract(&mut self, other: Self) {
        self.good = self.good.saturating_sub(other.good);
        self.bad = self.bad.saturating_sub(other.bad);
        self.hard = self.hard.saturating_sub(other.hard);
    }
}

impl Window {
    const SECONDS: u64 = 10;
    /// Fewer outcomes say nothing (security.md §3.3).
    pub(crate) const ENOUGH: u32 = 20;

    pub(crate) fn new(now: Instant) -> Self {
        let seconds = [Tally::default(); Self::SECONDS as usize];
        Self { began: now, latest: 0, seconds, total: Tally::default() }
    }

    pub(crate) fn succeeded(&mut self, now: Instant) {
        self.count(Tally { good: 1, ..Tally::default() }, now);
    }

    /// `hard` is a failure that is more than slowness.
    pub(crate) fn failed(&mut self, hard: bool, now: Instant) {
        self.count(Tally { good: 0, bad: 1, hard: hard.into() }, now);
    }

    /// Whether fewer than half of enough outcomes were good, timeouts left aside.
    pub(crate) fn is_bad(&self) -> bool {
        Self::is_minority(self.total.good, self.total.hard)
    }

    /// The same, timeouts counted.
    pub(crate) fn is_slow(&self) -> bool {
        Self::is_minority(self.total.good, self.total.bad)
    }

    fn is_minority(good: u32, bad: u32) -> bool {
        good.saturating_add(bad) >= Self::ENOUGH && good < bad
    }

    pub(crate) fn clear(&mut self) {
        (self.seconds, self.total) = ([Tally::default(); Self::SECONDS as usize], Tally::default());
    }

    fn count(&mut self, one: Tally, now: Instant) {
        self.advance(now);
        self.place(self.latest).add(one);
        self.total.add(one);
    }

    /// Forgets the seconds that are over. A clock that stands still or steps back counts for the latest.
    fn advance(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.began).as_secs();
        if second <= self.latest {
            return;
        }
        for over in self.latest + 1..=second.min(self.latest + Self::SECONDS) {
            let forgotten = std::mem::take(self.place(over));
            self.total.subtract(forgotten);
        }
        self.latest = second;
    }

    fn place(&mut self, second: u64) -> &mut Tally {
        &mut self.seconds[(second % Self::SECONDS) as usize]
    }
}
