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
