use super::*;

#[test]
fn a_limit_may_be_reached_and_not_exceeded() {
    let budget = Budget::new(2, 10);
    assert_eq!([(); 3].map(|()| budget.charge_call().is_ok()), [true, true, false]);
    assert_eq!(budget.charge_bytes(7), Ok(()));
    assert_eq!(budget.charge_bytes(4), Err(StepError::LimitExceeded { what: "bytes of results", limit: 10 }));
    assert_eq!(budget.charge_bytes(3), Ok(()), "what was refused is not counted");
    assert!(budget.charge_bytes(usize::MAX).is_err());
}

#[test]
fn what_is_held_for_a_time_is_given_back() {
    let budget = Budget::new(1, 10);
    budget.charge_bytes(2).unwrap();
    let held = budget.hold_bytes(8).unwrap();
    assert!(budget.charge_bytes(1).is_err());
    assert!(budget.hold_bytes(1).is_err());
    drop(held);
    assert!(budget.hold_bytes(9).is_err());
    budget.charge_bytes(8).unwrap();
}
