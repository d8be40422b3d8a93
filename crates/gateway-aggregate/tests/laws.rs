//! What holds for every catalogue, of `build`, `page` and `resolve` together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gateway_aggregate::{
    Catalog, CatalogEntry, Listing, NAMESPACE_SEPARATOR, RawJson, RawObject, ResolveError, Tool, ToolRef,
    build, page, resolve,
};
use proptest::{
    collection::{btree_map, btree_set, vec},
    prelude::*,
    sample::select,
};

/// Names that `build` takes as a downstream's.
fn downstream() -> impl Strategy<Value = String> {
    "[a-c]{1,2}(-[a-c]|_[a-c])?"
}

/// Names that `build` takes as a tool's, most of them short so that they meet.
fn tool() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-cA.-]{1,2}(_[a-c])?_?", 1 => "\\PC{1,8}"].prop_filter("not a tool's name", |name| {
        !name.contains(NAMESPACE_SEPARATOR) && !name.starts_with('_')
    })
}

/// Any names, good and bad.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a_]{0,5}", 1 => any::<String>()]
}

fn good_listings() -> impl Strategy<Value = Vec<Listing>> {
    let tools = btree_map(tool(), any::<u8>(), 0..6);
    btree_map(downstream(), tools, 0..5).prop_map(|listings| {
        let tool = |(name, mark): (String, u8)| {
            Tool::new(&name).with("title", &RawJson::string(&format!("{name} {mark}")))
        };
        listings.into_iter().map(|(name, tools)| Listing::new(name, tools.into_iter().map(tool))).collect()
    })
}

fn shuffled_listings() -> impl Strategy<Value = (Vec<Listing>, Vec<Listing>)> {
    let shuffle = |listing: Listing| {
        let name = listing.downstream;
        Just(listing.tools).prop_shuffle().prop_map(move |tools| Listing::new(name.clone(), tools))
    };
    good_listings().prop_flat_map(move |listings| {
        let shuffled = listings.clone().into_iter().map(shuffle).collect::<Vec<_>>();
        (Just(listings), shuffled.prop_shuffle())
    })
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.entries().iter().map(CatalogEntry::name).collect()
}

#[expect(clippy::expect_used, reason = "a set has each name once")]
fn unprefixed(names: &BTreeSet<String>) -> Catalog {
    let entries = names.iter().map(|name| CatalogEntry::unprefixed("d", Tool::new(name))).collect();
    Catalog::new(entries).expect("a set has each name once")
}

/// A JSON text in which nothing survives being parsed and written again by a usual library.
fn json() -> impl Strategy<Value = String> {
    let leaf = select(
        &[
            "1e400",
            "1.0",
            "-0",
            "9007199254740993",
            "1E+2",
            r#""\u0061\/""#,
            r#""é\ud83d\ude00""#,
            "null",
            " true ",
            "\t0.10",
        ][..],
    )
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[ {}]", items.join(" ,"))),
            btree_map("[a-z]{1,3}", inner, 0..4).prop_map(|members| {
                let members = members.iter().rev().map(|(name, value)| format!("\"{name}\" :{value}"));
                format!("{{{}\t}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    /// A-18, A-19.
    #[test]
    fn order_of_the_input_does_not_matter((listings, shuffled) in shuffled_listings()) {
        let catalog = build(&listings).expect("good listings");
        prop_assert_eq!(&catalog, &build(&shuffled).expect("good listings"));
        prop_assert_eq!(&catalog, &build(&listings).expect("good listings"));
        prop_assert_eq!(catalog.len(), listings.iter().map(|listing| listing.tools.len()).sum::<usize>());
        prop_assert!(names(&catalog).is_sorted_by(|a, b| a < b));
    }

    /// A-W1, A-W2: what is built resolves back to itself; what would not is refused.
    #[test]
    fn every_built_name_leads_back(listings in vec((name(), vec(name(), 0..3)), 0..3)) {
        let listings: Vec<_> = listings
            .iter()
            .map(|(downstream, tools)| Listing::new(downstream.as_str(), tools.iter().map(|tool| Tool::new(tool))))
            .collect();
        let known: HashMap<_, _> = listings.iter().map(|listing| (listing.downstream.clone(), true)).collect();
        let pairs: Vec<_> = listings
            .iter()
            .flat_map(|listing| listing.tools.iter().map(|tool| ToolRef::new(listing.downstream.as_str(), tool.name())))
            .collect();
        let sound = |reference: &ToolRef| ToolRef::parse(&reference.to_string()).as_ref() == Ok(reference);
        match build(&listings) {
            Ok(catalog) => {
                prop_assert_eq!(catalog.len(), pairs.len());
                for reference in pairs {
                    let entry = catalog.get(&reference).expect("listed");
                    prop_assert_eq!(resolve(entry.name(), Some(&known)), Ok(reference));
                }
            }
            Err(_) => {
                let doubled = pairs.iter().collect::<BTreeSet<_>>().len() < pairs.len();
                let barren = |name: &str| !sound(&ToolRef::new(name, "x"));
                let faulty = known.len() < listings.len() || known.keys().any(|name| barren(name));
                prop_assert!(doubled || faulty || !pairs.iter().all(sound), "refused without a reason");
            }
        }
    }

    /// A-31, for every size, on names that need not be `downstream__tool`.
    #[test]
    fn pages_show_everything_once(set in btree_set(name(), 0..12)) {
        let catalog = unprefixed(&set);
        for size in 1..=catalog.len() + 1 {
            let (mut cursor, mut shown) = (String::new(), Vec::new());
            loop {
                let (shown_now, next) = page(&catalog, &cursor, size).expect("a good cursor");
                prop_assert!(next.is_empty() || shown_now.len() == size);
                shown.extend(names(&shown_now).into_iter().map(str::to_owned));
                cursor = next;
                if cursor.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(&shown, &set.iter().cloned().collect::<Vec<_>>(), "size {}", size);
        }
    }

    /// A-29, A-30, A-31, with a catalogue that changes between pages.
    #[test]
    fn pages_of_a_changing_catalogue_neither_skip_nor_repeat(
        first in btree_set(name(), 0..12),
        changes in vec((btree_set(name(), 0..3), vec(any::<prop::sample::Index>(), 0..3)), 0..8),
        size in 1_usize..6,
    ) {
        let mut changes = changes.into_iter();
        let (mut present, mut always) = (first.clone(), first);
        let (mut cursor, mut shown) = (String::new(), BTreeMap::<String, usize>::new());
        loop {
            let (shown_now, next) = page(&unprefixed(&present), &cursor, size).expect("a good cursor");
            let rest = shown.last_key_value().map(|(name, _)| name.clone());
            let due = present.iter().filter(|name| rest.as_ref().is_none_or(|rest| *name > rest)).take(size);
            prop_assert_eq!(names(&shown_now), due.collect::<Vec<_>>());
            for name in names(&shown_now) {
                *shown.entry(name.to_owned()).or_default() += 1;
            }
            if next.is_empty() {
                break;
            }
            cursor = next;
            let Some((added, removed)) = changes.next() else { continue };
            for index in removed {
                if let Some(name) = (!present.is_empty()).then(|| index.get(&present.iter().collect::<Vec<_>>()).to_string()) {
                    present.remove(&name);
                }
            }
            always.retain(|name| present.contains(name));
            present.extend(added);
        }
        prop_assert!(shown.values().all(|times| *times == 1), "repeated: {:?}", shown);
        for name in &always {
            prop_assert!(shown.contains_key(name), "{:?} was there all the time and not shown", name);
        }
    }

    /// A-41.
    #[test]
    fn resolve_is_total(name in prop_oneof![name(), any::<String>(), vec(any::<u8>(), 0..12).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())]) {
        prop_assert!(resolve(&name, None).is_err());
        if let Err(ResolveError::UnknownDownstream { downstream }) = resolve(&name, None) {
            let target = resolve(&name, Some(&HashMap::from([(downstream, true)]))).expect("known now");
            prop_assert_eq!(target.to_string(), name);
        }
    }

    /// A-2, A-3, A-W5, A-W6.
    #[test]
    fn definitions_come_out_byte_for_byte(values in vec((select(&["title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "x-new"][..]), json()), 0..9)) {
        let members: BTreeMap<_, _> = values.into_iter().collect();
        let text = |name: &str| {
            let members = members.iter().map(|(member, value)| format!(" ,\"{member}\":{value}")).collect::<String>();
            format!("{{\t\"name\" : \"{name}\"{members} }}")
        };
        let tool = Tool::from_definition(RawObject::parse(text("t")).expect("JSON")).expect("named");
        let catalog = build(&[Listing::new("d", [tool, Tool::new("other")])]).expect("good listings");
        let (shown, next) = page(&catalog, "ZF9fb3RoZXI", 1).expect("a good cursor");
        prop_assert_eq!((names(&shown), next.as_str()), (vec!["d__t"], ""));
        let tool = shown.entries()[0].tool();
        prop_assert_eq!(tool.definition().as_str(), text("t"));
        for (member, value) in tool.definition().iter().skip(1) {
            prop_assert_eq!(value.as_str(), members[&*member].trim());
        }
        prop_assert_eq!(tool.definition().len(), members.len() + 1);
        for (found, member) in [(tool.input_schema(), "inputSchema"), (tool.output_schema(), "outputSchema"), (tool.annotations(), "annotations"), (tool.icons(), "icons")] {
            prop_assert_eq!(found.is_some(), members.contains_key(member), "{}", member);
        }
        // One without a type is shown with it (A-43).
        let untyped = tool.definition().get_object("inputSchema").is_some_and(|schema| !schema.contains("type"));
        if members.contains_key("inputSchema") && !untyped {
            let rendered = tool.render("d__t", gateway_domain::Era::Modern);
            prop_assert_eq!(rendered.as_str(), text("d__t"));
        }
    }
}
