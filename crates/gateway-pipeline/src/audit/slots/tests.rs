use super::*;

#[test]
fn both_parts_have_a_place_whatever_is_configured() {
    for (queue, high_water, ordinary, reserve) in [
        (10_000, 0.85, 8_500, 1_500),
        (10, 0.85, 8, 2),
        (10, 1.0, 9, 1),
        (10, 0.0, 1, 9),
        (10, -3.0, 1, 9),
        (10, f64::NAN, 1, 9),
        (2, 0.5, 1, 1),
        (0, 0.5, 1, 1),
    ] {
        let slots = Slots::new(queue, high_water, 0.1);
        let parts = (slots.ordinary.available_permits(), slots.reserve.available_permits());
        assert_eq!(parts, (ordinary, reserve), "{queue} at {high_water}");
    }
}

#[test]
fn a_place_is_free_again_when_it_was_not_used_or_its_record_was_written() {
    let slots = Slots::new(4, 0.5, 0.1);
    let places = || (slots.ordinary.available_permits(), slots.reserve.available_permits());
    drop(slots.any());
    assert_eq!(places(), (2, 2));
    let mut held = Held::default();
    for expected in [(2, 1), (2, 0), (1, 0), (0, 0)] {
        held.add(slots.any().unwrap());
        assert_eq!(places(), expected, "the reserve first");
    }
    assert!(slots.any().is_none() && slots.ordinary().is_none());
    assert_eq!(held, Held { ordinary: 2, reserve: 2, door: 0 });
    slots.release(held);
    assert_eq!(places(), (2, 2));
    drop([slots.ordinary(), slots.ordinary()]);
    let both = [slots.ordinary(), slots.ordinary()];
    assert!(slots.ordinary().is_none(), "a record of success has no other place");
    assert!(both.iter().all(Option::is_some) && slots.any().is_some());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_takes_what_becomes_free_of_either_part() {
    let wait = Duration::from_millis(250);
    for part in [Held { ordinary: 1, ..Held::default() }, Held { reserve: 1, ..Held::default() }] {
        let slots = Slots::new(2, 0.5, 0.1);
        let taken = [slots.any(), slots.any()];
        for slot in taken {
            Held::default().add(slot.unwrap());
        }
        let begun = tokio::time::Instant::now();
        assert!(slots.any_within(wait).await.is_none());
        assert_eq!(begun.elapsed(), wait);
        let free = async {
            tokio::time::sleep(wait / 2).await;
            slots.release(part);
        };
        let (slot, ()) = tokio::join!(slots.any_within(wait), free);
        assert!(slot.is_some(), "{part:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn once_it_is_closed_nobody_waits() {
    let slots = Slots::new(2, 0.5, 0.1);
    let taken = [slots.any(), slots.any()];
    let begun = tokio::time::Instant::now();
    let long = Duration::from_secs(9);
    let close = async { slots.close() };
    let (any, ordinary, ()) = tokio::join!(slots.any_within(long), slots.ordinary_within(long), close);
    assert!(any.is_none() && ordinary.is_none() && begun.elapsed() == Duration::ZERO);
    drop(taken);
    assert!(slots.any().is_none() && slots.ordinary().is_none());
}

#[test]
fn the_door_has_a_share_of_its_own_of_the_ordinary_places() {
    for (door_share, places) in [(0.1, 2), (0.0, 1), (-1.0, 1), (f64::NAN, 1), (1.0, 20), (7.0, 20)] {
        let slots = Slots::new(25, 0.8, door_share);
        let mut held = Held::default();
        while let Some(slot) = slots.at_door() {
            held.add(slot);
        }
        let ordinary = slots.ordinary.available_permits();
        assert_eq!((held.door, held.ordinary, ordinary), (places, places, 20 - places), "{door_share}");
        slots.release(held);
        drop(slots.at_door());
        let free = (slots.ordinary.available_permits(), slots.door.available_permits());
        assert_eq!(free, (20, places), "{door_share}");
    }
    let slots = Slots::new(25, 0.8, 0.5);
    let all: Vec<_> = std::iter::from_fn(|| slots.ordinary()).collect();
    assert!(all.len() == 20 && slots.at_door().is_none());
    assert_eq!(slots.door.available_permits(), 10, "a share without a place is given back");
}
