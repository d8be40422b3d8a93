//! Resources that clients watch.

use std::sync::{Arc, Mutex, atomic::Ordering::SeqCst};

use gateway_domain::{
    Caller, CallerError, DownstreamFault, Error, RawObject, Sessions, Subject, Subscription, Subscriptions,
    Target, Updates,
};
use gateway_registry::{Manager, ManagerConfig, PoolConfig, SessionMode};
use tokio::time::Duration;

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name},
    fixture::{Client, PerClient, Shared, downstream, legacy, manager, modern, stats},
};

const MINUTE: Duration = Duration::from_secs(60);

/// What a client hears.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Updates for Heard {
    fn updated(&self, params: RawObject) {
        self.0.lock().unwrap().push(params.as_str().to_owned());
    }
}

impl Heard {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

async fn watch(
    manager: &Manager,
    client: &Client,
    uri: &str,
    heard: &Arc<Heard>,
) -> Result<Subscription, Error> {
    let target =
        Target::Downstream { downstream: name("fake"), subject: Subject::Resource { uri: uri.into() } };
    manager.subscribe(target, &Caller::anonymous(), &client.exchange(), heard.clone()).await
}

const TOLD: &str = r#"{"uri":"a://x","n":1.0}"#;
const TO_BE_SAFE: &str = r#"{"uri":"a://x"}"#;

const KINDS: [(Speaks, SessionMode); 4] = [
    (Speaks::Legacy, PerClient),
    (Speaks::Legacy, Shared),
    (Speaks::Modern, PerClient),
    (Speaks::Modern, Shared),
];

#[tokio::test(start_paused = true)]
async fn changes_are_told_until_the_subscription_is_dropped() {
    for (speaks, mode) in KINDS {
        let fake = Fake::new(speaks);
        let manager = manager(&fake, mode, 4);
        let (one, two) = (Arc::<Heard>::default(), Arc::<Heard>::default());
        let (a, b) = (legacy("a"), modern("b"));
        let first = watch(&manager, &a, "a://x", &one).await.unwrap();
        let again = watch(&manager, &a, "a://x", &one).await.unwrap();
        let second = watch(&manager, &b, "a://x", &two).await.unwrap();
        fake.update("a://x");
        fake.update("a://y");
        assert_eq!((one.take(), two.take()), (vec![TOLD.to_owned(); 2], vec![TOLD.to_owned()]));
        drop(again);
        drop(second);
        fake.update("a://x");
        assert_eq!((one.take(), two.take()), (vec![TOLD.to_owned()], vec![]), "{speaks:?} {mode:?}");
        drop(first);
        fake.update("a://x");
        assert_eq!(one.take(), [""; 0]);
        tokio::time::sleep(SECOND).await;
        assert_eq!(fake.watching.load(SeqCst), 0, "{speaks:?} {mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_watches_in_its_own_session_which_stays() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let (a, heard) = (legacy("a"), Arc::<Heard>::default());
    a.call(&manager, "whoami").await.unwrap();
    let subscription = watch(&manager, &a, "a://x", &heard).await.unwrap();
    assert_eq!(fake.counts().0, 1);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((fake.counts(), a.call(&manager, "whoami").await.unwrap()), ((1, 0, 1), 1));
    drop(subscription);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((stats(&manager).in_use, fake.subscribed.load(SeqCst)), (0, 1), "then it is idle");
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_replaced_and_an_update_told_to_be_safe() {
    for (speaks, mode) in KINDS {
        let fake = Fake::new(speaks);
        let manager = manager(&fake, mode, 4);
        let heard = Arc::<Heard>::default();
        let subscription = watch(&manager, &legacy("a"), "a://x", &heard).await.unwrap();
        fake.fail(3, crate::fake::unreachable());
        fake.kill_all();
        tokio::time::sleep(SECOND / 4).await;
        assert_eq!((heard.take(), fake.watching.load(SeqCst)), (vec![], 0), "not at once");
        tokio::time::sleep(10 * SECOND).await;
        assert_eq!(heard.take(), [TO_BE_SAFE], "{speaks:?} {mode:?}");
        fake.update("a://x");
        assert_eq!((heard.take(), fake.watching.load(SeqCst)), (vec![TOLD.to_owned()], 1));
        // It is tried now and then for as long as it takes, and never often.
        fake.fail(usize::MAX, crate::fake::unreachable());
        fake.kill_all();
        let attempts = fake.attempts.load(SeqCst);
        tokio::time::sleep(30 * MINUTE).await;
        let attempts = fake.attempts.load(SeqCst) - attempts;
        assert!((30..60).contains(&attempts), "{attempts}");
        fake.fail(0, crate::fake::unreachable());
        tokio::time::sleep(MINUTE).await;
        assert_eq!(heard.take(), [TO_BE_SAFE]);
        drop(subscription);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_client_watches_ends_with_it() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let (legacy, modern) = (legacy("a"), modern("m"));
    let heard = Arc::<Heard>::default();
    let mut kept = Vec::new();
    for client in [&legacy, &modern] {
        kept.push(watch(&manager, client, "a://x", &heard).await.unwrap());
    }
    manager.end(legacy.key()).await;
    fake.update("a://x");
    assert_eq!(heard.take().len(), 1);
    manager.end_caller(&Caller::client("m")).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((heard.take().len(), fake.counts()), (0, (2, 2, 0)), "nothing is opened again");
    kept.push(watch(&manager, &legacy, "a://x", &heard).await.unwrap());
    manager.close().await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!((heard.take().len(), fake.counts()), (0, (3, 3, 0)));
    let refused = watch(&manager, &legacy, "a://x", &heard).await;
    assert_eq!(refused.unwrap_err(), CallerError::SessionClosed.into());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_refused_and_leaves_nothing() {
    let fake = Fake::new(Speaks::Modern);
    let config =
        ManagerConfig { max_subscriptions: 3, max_subscriptions_per_client: 2, ..ManagerConfig::default() };
    let pool = PoolConfig::default();
    let manager = Manager::with_config(vec![downstream("fake", &fake, PerClient, pool)], config).unwrap();
    let (a, b, heard) = (legacy("a"), legacy("b"), Arc::<Heard>::default());
    for _ in 0..5 {
        let refused = watch(&manager, &a, "none://", &heard).await;
        assert!(matches!(fault(refused), DownstreamFault::Nonsense { .. }));
    }
    let mut kept = Vec::new();
    for client in [&a, &a, &b] {
        kept.push(watch(&manager, client, "a://x", &heard).await.unwrap());
    }
    for (client, limit) in [(&a, 2), (&b, 3)] {
        let Err(Error::Caller(CallerError::Overloaded { limit: told, .. })) =
            watch(&manager, client, "a://x", &heard).await
        else {
            panic!("beyond the limit")
        };
        assert_eq!(told, limit);
    }
    kept.pop();
    kept.push(watch(&manager, &b, "a://y", &heard).await.unwrap());
    let elsewhere =
        Target::Downstream { downstream: name("other"), subject: Subject::Resource { uri: "a://x".into() } };
    kept.pop();
    let refused = manager.subscribe(elsewhere, &Caller::anonymous(), &b.exchange(), heard).await;
    assert_eq!(refused.unwrap_err(), CallerError::UnknownDownstream { name: "other".into() }.into());
}

#[tokio::test(start_paused = true)]
async fn those_who_only_watch_make_room_in_turn() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 1);
    let heard = Arc::<Heard>::default();
    let _subscription = watch(&manager, &legacy("a"), "a://x", &heard).await.unwrap();
    assert!(matches!(fault(legacy("b").call(&manager, "whoami").await), DownstreamFault::Exhausted { .. }));
    tokio::time::sleep(MINUTE).await;
    assert_eq!(legacy("b").call(&manager, "whoami").await.unwrap(), 2);
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(
        (heard.take(), fake.watching.load(SeqCst)),
        (vec![TO_BE_SAFE.to_owned()], 1),
        "and comes back"
    );
}

#[tokio::test(start_paused = true)]
async fn those_who_only_watch_do_not_take_turns_with_each_other() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 1);
    let [a, b] = [(); 2].map(|()| Arc::<Heard>::default());
    let _first = watch(&manager, &legacy("a"), "a://x", &a).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    let second = watch(&manager, &legacy("b"), "a://x", &b).await.unwrap();
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!((fake.counts().0, a.take(), b.take()), (2, vec![], vec![]), "who asked has it");
    drop(second);
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!((fake.counts().0, a.take()), (3, vec![TO_BE_SAFE.to_owned()]), "the first is back");
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_watched_again_is_told_once_and_over() {
    let unknown = CallerError::UnknownResource { uri: "a://x".into() };
    for is_removed in [true, false] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, PerClient, 4);
        let heard = Arc::<Heard>::default();
        let _subscription = watch(&manager, &legacy("a"), "a://x", &heard).await.unwrap();
        match is_removed {
            true => assert!(manager.remove(&name("fake")).await),
            false => {
                fake.fail(1, unknown.clone().into());
                fake.kill_all();
            }
        }
        tokio::time::sleep(10 * MINUTE).await;
        assert_eq!((heard.take(), fake.counts().0), (vec![TO_BE_SAFE.to_owned()], 1), "{is_removed}");
    }
}
