//! What a catalogue costs. `page` must not grow with the number of tools (A-W4): 100 entries out of 10,000
//! may cost a few comparisons more than out of 100, no copy and no sort.

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use divan::{Bencher, black_box};
use gateway_aggregate::{Catalog, FitRules, Listing, RawObject, Tool, build, fit, page};

fn main() {
    divan::main();
}

const PAGE: usize = 100;
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// `count` tools of the usual size on ten downstreams; with `odd` each needs an alias.
fn listings(count: usize, odd: bool) -> Vec<Listing> {
    let tool = |number: usize| {
        let name = if odd { format!("get/thing {number}") } else { format!("get_thing_{number}") };
        let definition = format!(
            r#"{{"name":"{name}","title":"Thing {number}","description":"Gets thing number {number}.","inputSchema":{{"type":"object","properties":{{"id":{{"type":"string"}}}}}},"annotations":{{"readOnlyHint":true}}}}"#
        );
        Tool::from_definition(RawObject::parse(definition).expect("JSON")).expect("it has a name")
    };
    (0..10).map(|d| Listing::new(format!("server-{d}"), (0..count / 10).map(tool))).collect()
}

fn catalog(count: usize) -> Catalog {
    build(&listings(count, false)).expect("good listings")
}

/// The cursor after the first half.
fn middle(catalog: &Catalog) -> String {
    page(catalog, "", catalog.len() / 2).expect("a good size").1
}

#[divan::bench(args = SIZES)]
fn page_from_the_middle(bencher: Bencher<'_, '_>, count: usize) {
    let catalog = catalog(count);
    let cursor = middle(&catalog);
    bencher.bench_local(|| page(black_box(&catalog), black_box(&cursor), PAGE));
}

#[divan::bench(args = SIZES)]
fn walk_all_pages(bencher: Bencher<'_, '_>, count: usize) {
    let catalog = catalog(count);
    bencher.bench_local(|| {
        let mut cursor = String::new();
        loop {
            let (shown, next) = page(black_box(&catalog), &cursor, PAGE).expect("a good cursor");
            black_box(shown);
            if next.is_empty() {
                break;
            }
            cursor = next;
        }
    });
}

#[divan::bench(args = SIZES)]
fn build_all(bencher: Bencher<'_, '_>, count: usize) {
    let listings = listings(count, false);
    bencher.bench_local(|| build(black_box(&listings)));
}

#[divan::bench(args = [200, 2_000, 20_000])]
fn fit_names_that_need_aliases(bencher: Bencher<'_, '_>, count: usize) {
    let listings = listings(count, true);
    bencher.with_inputs(|| listings.clone()).bench_local_values(|listings| {
        listings.into_iter().map(|listing| fit(listing, &FitRules::default())).collect::<Vec<_>>()
    });
}
