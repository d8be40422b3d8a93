//! What stands with a list, and who can have one read again.

use gateway_domain::{Caller, DownstreamName, DownstreamState, ListRemark, SessionKey};
use gateway_server::ClientKey;
use gateway_testkit::client::Answer;

use crate::support::{OURS, files, raw, start};

const REMARKS: &str = r#""gatewayd/downstreams":[{"name":"files","state":"broken","stale":true,"kind":"downstream_timeout"},{"name":"web","state":"ready","stale":true,"kind":"stale"}]"#;

fn remarks() -> Vec<ListRemark> {
    let web = DownstreamName::parse("web").unwrap();
    let (files, kind) = (files(), "downstream_timeout");
    let remark = |downstream, state, kind| ListRemark { downstream, state, is_stale: true, kind };
    vec![remark(files, DownstreamState::Broken, kind), remark(web, DownstreamState::Ready, "stale")]
}

#[tokio::test]
async fn gw6_a_list_names_the_downstreams_that_are_not_well_in_both_eras() {
    let server = start(|_| {}).await;
    let legacy = server.legacy("2025-11-25").await;
    let modern = server.modern();
    let page = |list: &Answer| {
        let cursor = list.result_member("nextCursor").unwrap();
        format!(r#"{{"tools":[{{"name":"files__echo","n":1.0}}],"nextCursor":{cursor}"#)
    };
    let list = modern.request("1", "tools/list", "{}").await.unwrap();
    let page_of = page(&list);
    let well = format!(r#"{page_of},"resultType":"complete","ttlMs":5000,"cacheScope":"public",{OURS}}}"#);
    assert_eq!(list.result().unwrap(), well);
    *server.world.remarks.lock().unwrap() = (false, remarks());
    let list = legacy.request("2", "tools/list", "{}").await.unwrap();
    assert_eq!(list.result().unwrap(), format!(r#"{},"_meta":{{{REMARKS}}}}}"#, page(&list)));
    let list = modern.request("3", "tools/list", "{}").await.unwrap();
    let ours = OURS.strip_suffix('}').unwrap();
    assert_eq!(
        list.result().unwrap(),
        format!(
            r#"{},"resultType":"complete","ttlMs":5000,"cacheScope":"public",{ours},{REMARKS}}}}}"#,
            page(&list)
        )
    );
}

#[tokio::test]
async fn g10_a_list_that_is_one_callers_own_is_asked_for_in_its_session_and_not_shared() {
    let server = start(|config| config.clients = vec![ClientKey::new("desk", "k")]).await;
    server.modern().request("1", "tools/list", "{}").await.unwrap();
    let legacy = server.legacy("2025-11-25").await;
    legacy.request("2", "tools/list", "{}").await.unwrap();
    legacy.call("3", "files__echo", "{}").await.unwrap();
    let lists = server.world.lists.lock().unwrap().clone();
    assert!(matches!(&lists[0], SessionKey::Modern { caller, .. } if *caller == Caller::client("desk")));
    assert!(matches!(&lists[1], SessionKey::Legacy { .. }));
    assert_eq!(lists[1], server.world.calls.lock().unwrap()[0].1, "the session that calls use");

    let open = start(|_| {}).await;
    for (is_private, scope) in [(false, "\"public\""), (true, "\"private\"")] {
        *open.world.remarks.lock().unwrap() = (is_private, Vec::new());
        let list = open.modern().request("1", "tools/list", "{}").await.unwrap();
        assert_eq!(list.result_member("cacheScope").as_deref(), Some(scope));
    }
}

#[tokio::test]
async fn g11_gw11_lists_are_flushed_at_the_address_of_operators_only() {
    let server = start(|config| config.admin_listen = Some("127.0.0.1:0".parse().unwrap())).await;
    let admin = server.admin.unwrap();
    let alone = start(|_| {}).await;
    let host = |addr| format!("Host: {addr}\r\n");
    let evil = |addr| format!("Host: {addr}\r\nOrigin: https://evil.example\r\n");
    for (addr, method, path, headers, status, body) in [
        (admin, "POST", "/flush", host(admin), 200, r#"{"flushed":2}"#),
        (admin, "POST", "/flush/files", host(admin), 200, r#"{"flushed":1}"#),
        (admin, "POST", "/flush/nosuch", host(admin), 404, ""),
        (admin, "POST", "/flush/", host(admin), 404, ""),
        (admin, "GET", "/flush", host(admin), 405, ""),
        (admin, "POST", "/flush", evil(admin), 403, ""),
        (admin, "POST", "/flush", "Host: evil.example\r\n".to_owned(), 403, ""),
        (server.addr, "POST", "/flush", host(server.addr), 404, ""),
        (server.addr, "POST", "/flush/files", host(server.addr), 404, ""),
        (alone.addr, "POST", "/flush", host(alone.addr), 404, ""),
    ] {
        let request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n");
        let answer = raw(addr, &request).await;
        assert_eq!(answer.status, status, "{method} {path} at {addr} with {headers:?}: {answer:?}");
        assert!(body.is_empty() || answer.body == body, "{answer:?}");
        assert_eq!(answer.head.contains("allow: post"), status == 405, "{answer:?}");
    }
    assert_eq!(*server.world.flushed.lock().unwrap(), [None, Some(files())]);
    assert!(alone.world.flushed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn gw11_nothing_a_client_says_has_a_list_read_again() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let session = format!("Mcp-Session-Id: {}\r\n", client.session().unwrap());
    for method in ["notifications/tools/list_changed", "notifications/files/tools/list_changed"] {
        let answer = server.post(&session, &format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)).await;
        assert_eq!(answer.status, 202);
    }
    assert!(server.world.flushed.lock().unwrap().is_empty());
}
