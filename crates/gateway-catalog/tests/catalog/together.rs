//! All lists as one, whatever one of them does.

use gateway_domain::{DownstreamState, View};
use tokio::time::Instant;

use crate::fake::{Lists, Opening, Scene, Script, config, ms, tools};

/// Nobody is authenticated here, and nobody records the log (G-13, G-15).
#[tokio::test(start_paused = true)]
async fn g1_g2_g12_all_lists_are_one_in_the_order_of_names_not_of_arrival() {
    let scripts = [
        ("c", Script::tools(&["t"]).after(100)),
        ("a", Script::tools(&["u", "t"]).after(300)),
        ("b", Script::tools(&["t"]).after(200)),
    ];
    let scene = Scene::with(config(), scripts, |_| {});
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__t", "a__u", "b__t", "c__t"]);
    assert_eq!(begun.elapsed(), ms(300), "all at the same time");
}

#[tokio::test(start_paused = true)]
async fn g7_g17_whatever_goes_wrong_costs_only_its_own_tools() {
    use DownstreamState::{Broken, Degraded, Ready, Starting};
    let good = || Script::tools(&["t"]);
    for (why, bad, state) in [
        ("unreachable", Script::failing("x"), Broken),
        ("left alone", Script { opening: Opening::Broken("x", 1_000), ..good() }, Broken),
        ("a bug of ours", Script::panicking(), Broken),
        ("silent", Script::hanging(), Starting),
        ("silent in the middle", Script::lists(Lists::HangAfterOne(tools(&["t"]))), Starting),
        ("without an end", Script::lists(Lists::Endless { with_tools: false }), Broken),
        ("nothing that is a tool", Script::lists(Lists::Skipped(vec!["a number".into()])), Degraded),
        ("no tools", Script::tools(&[]), Ready),
    ] {
        let scene = Scene::start([("a", good()), ("bad", bad), ("z", good())]);
        let begun = Instant::now();
        assert_eq!(scene.names(&View::All).await, ["a__t", "z__t"], "{why}");
        assert!(begun.elapsed() <= ms(500), "{why}: {:?}", begun.elapsed());
        assert_eq!(scene.status("bad").state, state, "{why}");
        assert!(["a", "z"].iter().all(|name| scene.status(name).state == Ready), "{why}");
    }
}
