use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A graph without circles: each step needs some of those before it. Then numbered anew, so that steps also need
/// later ones.
fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    (1..20usize).prop_flat_map(|count| {
        let needs = (0..count).map(|step| prop::collection::btree_set(0..step.max(1), 0..4));
        let needs: Vec<_> = needs.collect();
        (needs, Just((0..count).collect::<Vec<_>>()).prop_shuffle()).prop_map(|(needs, places)| {
            let mut graph = vec![Vec::new(); places.len()];
            for (step, needs) in needs.into_iter().enumerate() {
                graph[places[step]] =
                    needs.into_iter().filter(|need| *need < step).map(|need| places[need]).collect();
            }
            graph
        })
    })
}

fn agenda(needs: &[Vec<usize>], limit: usize) -> Agenda {
    Agenda::of(needs.iter().map(Vec::as_slice), limit)
}

fn begin_all(agenda: &mut Agenda) -> Vec<usize> {
    std::iter::from_fn(|| agenda.begin()).collect()
}

proptest! {
    #[test]
    fn every_step_begins_once_when_its_needs_are_done_and_a_place_is_free(
        needs in graphs(),
        limit in 1..6usize,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let mut agenda = agenda(&needs, limit);
        let (mut begun, mut done, mut running) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for pick in picks {
            for step in begin_all(&mut agenda) {
                prop_assert!(begun.insert(step), "step {step} began twice");
                running.push(step);
            }
            // Whoever may begin and did not finds all places taken, by earlier ones of its kind.
            let ready = |step: &usize| needs[*step].iter().all(|need| done.contains(need));
            let left = (0..needs.len()).filter(|step| !begun.contains(step)).find(ready);
            prop_assert!(running.len() <= limit);
            prop_assert!(running.iter().all(ready));
            prop_assert!(left.is_none() || running.len() == limit);
            if running.is_empty() {
                break;
            }
            let step = running.remove(pick.index(running.len()));
            agenda.done(step);
            done.insert(step);
        }
        prop_assert_eq!(done.len(), needs.len());
        prop_assert_eq!(agenda.left_over(), [0; 0]);
    }

    #[test]
    fn nothing_begins_after_the_rest_is_dropped(needs in graphs(), limit in 1..6usize) {
        let mut agenda = agenda(&needs, limit);
        let begun = begin_all(&mut agenda);
        let rest = agenda.drop_rest();
        prop_assert_eq!(begun.iter().chain(&rest).collect::<BTreeSet<_>>().len(), needs.len());
        for step in begun {
            agenda.done(step);
            prop_assert_eq!(agenda.begin(), None);
        }
        prop_assert_eq!(agenda.left_over(), [0; 0]);
    }
}

#[test]
fn ready_steps_begin_in_the_order_of_the_file() {
    let mut agenda = agenda(&[vec![], vec![0], vec![], vec![]], 2);
    assert_eq!(begin_all(&mut agenda), [0, 2]);
    agenda.done(0);
    assert_eq!(begin_all(&mut agenda), [1]);
    agenda.done(2);
    assert_eq!(begin_all(&mut agenda), [3]);
}

#[test]
fn steps_that_wait_for_one_another_are_left_over() {
    let mut agenda = agenda(&[vec![], vec![2], vec![1], vec![9]], 2);
    assert_eq!(begin_all(&mut agenda), [0]);
    assert_eq!(agenda.left_over(), [0; 0]);
    agenda.done(0);
    assert_eq!(agenda.begin(), None);
    assert_eq!(agenda.left_over(), [1, 2, 3]);
}

#[test]
fn at_least_one_step_runs() {
    assert_eq!(begin_all(&mut agenda(&[vec![], vec![]], 0)), [0]);
}
