use std::time::Duration;

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// The places of the queue, in two parts (P-59, P-60): below the high-water mark for every record, above it for those
/// of security alone. A call in flight holds one that it may need. Of those for every record, refusals at the door hold
/// a share at the most.
#[derive(Debug)]
pub(super) struct Slots {
    ordinary: Semaphore,
    reserve: Semaphore,
    /// How many more of the ordinary places refusals at the door may hold.
    door: Semaphore,
}

/// A place in the queue. Dropped unused it is free again.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    permit: SemaphorePermit<'a>,
    part: Part,
    /// If it is for a refusal at the door.
    door: Option<SemaphorePermit<'a>>,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Ordinary,
    Reserve,
}

/// How many places records hold that wait to be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    ordinary: usize,
    reserve: usize,
    door: usize,
}

impl Slot<'_> {
    /// Whether it is good for a record of success.
    pub(super) fn is_ordinary(&self) -> bool {
        matches!(self.part, Part::Ordinary)
    }
}

impl Held {
    /// The slot is held by a record from now on, until [`Slots::release`].
    pub(super) fn add(&mut self, slot: Slot<'_>) {
        match slot.part {
            Part::Ordinary => self.ordinary += 1,
            Part::Reserve => self.reserve += 1,
        }
        slot.permit.forget();
        if let Some(door) = slot.door {
            self.door += 1;
            door.forget();
        }
    }
}

impl Slots {
    pub(super) fn new(queue: usize, high_water: f64, door_share: f64) -> Self {
        let queue = queue.clamp(2, Semaphore::MAX_PERMITS);
        let ordinary = share(queue, high_water).clamp(1, queue - 1);
        let door = share(ordinary, door_share).clamp(1, ordinary);
        let [ordinary, reserve, door] = [ordinary, queue - ordinary, door].map(Semaphore::new);
        Self { ordinary, reserve, door }
    }

    /// A place for the record of a refusal at the door.
    pub(super) fn at_door(&self) -> Option<Slot<'_>> {
        let door = self.door.try_acquire().ok()?;
        Some(Slot { door: Some(door), ..self.ordinary()? })
    }

    /// A place for a record of success.
    pub(super) fn ordinary(&self) -> Option<Slot<'_>> {
        take(&self.ordinary, Part::Ordinary)
    }

    /// The same, waited for. Cancel-safe.
    pub(super) async fn ordinary_within(&self, wait: Duration) -> Option<Slot<'_>> {
        let permit = timeout(wait, self.ordinary.acquire()).await.ok()?.ok()?;
        Some(Slot { permit, part: Part::Ordinary, door: None })
    }

    /// A place for whatever record a call will need: of the reserve first, so that calls in flight do not keep out
    /// those that have ended.
    pub(super) fn any(&self) -> Option<Slot<'_>> {
        take(&self.reserve, Part::Reserve).or_else(|| self.ordinary())
    }

    /// The same, waited for. Cancel-safe. `None` too once the log is closed.
    pub(super) async fn any_within(&self, wait: Duration) -> Option<Slot<'_>> {
        let either = async {
            tokio::select! {
                permit = self.reserve.acquire() => permit.map(|permit| Slot { permit, part: Part::Reserve, door: None }),
                permit = self.ordinary.acquire() => permit.map(|permit| Slot { permit, part: Part::Ordinary, door: None }),
            }
        };
        timeout(wait, either).await.ok()?.ok()
    }

    /// Frees the places of records that were written.
    pub(super) fn release(&self, held: Held) {
        self.ordinary.add_permits(held.ordinary);
        self.reserve.add_permits(held.reserve);
        self.door.add_permits(held.door);
    }

    /// No place is given any more, and nobody waits for one.
    pub(super) fn close(&self) {
        self.ordinary.close();
        self.reserve.close();
        self.door.close();
    }
}

fn take(part: &Semaphore, name: Part) -> Option<Slot<'_>> {
    part.try_acquire().ok().map(|permit| Slot { permit, part: name, door: None })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a number of places, cut to whole ones; the caller clamps it"
)]
fn share(places: usize, share: f64) -> usize {
    (places as f64 * share) as usize
}

#[cfg(test)]
mod tests;
