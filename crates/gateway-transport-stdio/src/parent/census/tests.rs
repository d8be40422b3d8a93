use super::*;

const US: Us = Us { id: 100, session: 50, adopts: true };

/// A running process that was started at the moment of its own number.
fn process(id: u32, parent: u32, session: u32) -> Seen {
    Seen { id, parent, group: id, session, started: u64::from(id), ended: false }
}

fn ended(process: Seen) -> Seen {
    Seen { ended: true, ..process }
}

fn marker(leader: u32) -> String {
    format!("0123456789abcdef-{leader}")
}

fn tree(leader: u32) -> Known {
    Known { leader, started: u64::from(leader), marker: Some(marker(leader)), ending: false }
}

fn ending(leader: u32) -> Known {
    Known { ending: true, ..tree(leader) }
}

fn unmarked(_: u32) -> Marks {
    Marks::default()
}

/// From 180 on with the tag of 110, from 190 on with its variable.
fn marked(id: u32) -> Marks {
    Marks {
        variable: (190..200).contains(&id).then(|| marker(110).into_bytes()),
        tag: (180..190).contains(&id).then(|| lifeline::tag(&marker(110)).unwrap()),
    }
}

/// In words: the members of each tree, then what else is to be done.
fn words(count: &Count) -> String {
    let ids = |seen: &[Seen]| seen.iter().map(|process| process.id).collect::<Vec<_>>();
    let mut words: Vec<_> =
        count.members.iter().map(|(leader, members)| format!("{leader}: {:?}", ids(members))).collect();
    words.extend((!count.strays.is_empty()).then(|| format!("strays {:?}", ids(&count.strays))));
    words.extend((!count.ended.is_empty()).then(|| format!("ended {:?}", count.ended)));
    words.extend(count.unclaimed.then(|| "unclaimed".into()));
    words.join(", ")
}

#[test]
fn a_process_is_known_by_its_session_its_parents_and_its_marker() {
    let leader = process(110, 100, 110);
    for (what, trees, seen, expected) in [
        ("the leader alone", vec![tree(110)], vec![leader], ""),
        ("a helper", vec![tree(110)], vec![leader, process(111, 110, 110)], "110: [111]"),
        (
            "a helper whose parent has gone",
            vec![tree(110)],
            vec![leader, process(111, 100, 110)],
            "110: [111]",
        ),
        (
            "who has left the session, and its child",
            vec![tree(110)],
            vec![process(112, 111, 112), process(111, 110, 111), leader],
            "110: [112, 111]",
        ),
        (
            "orphans with the marker of a tree",
            vec![tree(109), tree(110)],
            vec![process(109, 100, 109), leader, process(191, 190, 191), process(190, 100, 190)],
            "110: [191, 190]",
        ),
        (
            "an orphan with its tag",
            vec![tree(109), tree(110)],
            vec![leader, process(180, 100, 180)],
            "110: [180]",
        ),
        ("an orphan with a marker of nobody", vec![tree(109)], vec![process(190, 100, 190)], "unclaimed"),
        (
            "children of other code here",
            vec![ending(110)],
            vec![process(120, 100, 50), process(121, 120, 121)],
            "",
        ),
        ("the rest of the system", vec![ending(110)], vec![process(120, 1, 120), process(192, 1, 192)], ""),
        (
            "orphans that have ended",
            vec![tree(110)],
            vec![ended(leader), ended(process(111, 100, 110)), ended(process(120, 100, 120))],
            "ended [111, 120]",
        ),
        ("a child of other code that has ended", vec![tree(110)], vec![ended(process(120, 100, 50))], ""),
        (
            "one that its parent has to reap",
            vec![tree(110)],
            vec![leader, ended(process(111, 110, 110))],
            "110: [111]",
        ),
        ("parents in a circle", vec![tree(110)], vec![process(120, 121, 120), process(121, 120, 121)], ""),
    ] {
        assert_eq!(words(&Census::default().take(&US, &trees, &seen, marked)), expected, "{what}");
    }
}

#[test]
fn an_orphan_without_a_marker_is_of_the_tree_that_has_just_lost_its_leader() {
    let orphan = process(120, 100, 120);
    for (what, trees, expected) in [
        ("nobody has ended", vec![tree(105), tree(110)], "unclaimed"),
        ("one has", vec![tree(105), ending(110)], "110: [120]"),
        ("one has that was started later", vec![tree(105), ending(130)], "unclaimed"),
        ("all are gone", vec![], "strays [120]"),
        ("all are that were there", vec![tree(130)], "strays [120]"),
    ] {
        assert_eq!(words(&Census::default().take(&US, &trees, &[orphan], unmarked)), expected, "{what}");
    }
    let first = Us { id: 1, ..US };
    let from_outside = process(120, 1, 120);
    assert_eq!(words(&Census::default().take(&first, &[ending(110)], &[from_outside], unmarked)), "");
    let ours = process(180, 1, 180);
    assert_eq!(words(&Census::default().take(&first, &[tree(110)], &[ours], marked)), "110: [180]");
}

#[test]
fn what_was_known_once_stays_known() {
    let mut census = Census::default();
    let trees = [tree(105), tree(110)];
    let before =
        [process(105, 100, 105), process(110, 100, 110), process(111, 105, 111), process(112, 100, 112)];
    assert_eq!(words(&census.take(&US, &trees, &before, unmarked)), "105: [111], unclaimed");
    // 110 has ended, but 111 is an orphan of the other, and 112 was one before.
    let after = [process(105, 100, 105), process(111, 100, 111), process(112, 100, 112)];
    assert_eq!(
        words(&census.take(&US, &[tree(105), ending(110)], &after, unmarked)),
        "105: [111], unclaimed"
    );
    assert_eq!(words(&census.take(&US, &[tree(105)], &after, unmarked)), "105: [111], unclaimed");
    assert_eq!(words(&census.take(&US, &[], &after[1..], unmarked)), "strays [111, 112]");
    // Another process with a number that was known.
    let other = Seen { started: 900, ..process(111, 1, 111) };
    assert_eq!(words(&census.take(&US, &[], &[other], unmarked)), "");
    assert!(census.owners.is_empty());
}

#[test]
fn where_orphans_do_not_come_back_the_marker_tells_alone() {
    let us = Us { adopts: false, ..US };
    let seen = [process(110, 100, 110), process(180, 1, 180), process(190, 1, 190), process(121, 1, 121)];
    assert_eq!(words(&Census::default().take(&us, &[ending(110)], &seen, marked)), "110: [180, 190]");
}
