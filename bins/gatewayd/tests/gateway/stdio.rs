//! `gatewayd stdio`: the same endpoint for one client over stdin and stdout.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::support::{Folder, fake, gatewayd};
use gateway_testkit::{
    client::{Speaks, StdioClient},
    fixtures,
};

async fn start(folder: &Folder, speaks: Speaks) -> StdioClient {
    let mut command = gatewayd();
    command.args(["stdio", "--config"]).arg(folder.config());
    StdioClient::spawn(command.into(), speaks).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_eras_list_and_call_and_end_with_their_client() {
    for (switches, speaks) in [
        (["--era", "legacy"], Speaks::legacy()),
        (["--era", "legacy"], Speaks::modern()),
        (["--era", "modern"], Speaks::legacy()),
        (["--era", "modern"], Speaks::modern()),
    ] {
        let folder = Folder::with(&fake("d", &switches));
        let client = start(&folder, speaks.clone()).await;
        let listed = client.request("\"list\"", "tools/list", "{}").await.unwrap();
        let definition = fixtures::ODD_TOOL.replace(r#""name":"odd""#, r#""name":"d__odd""#);
        assert!(listed.text.contains(&definition), "{switches:?} {speaks:?}: {}", listed.text);
        let long = format!("\"{}\"", "z".repeat(200));
        for id in ["1", "\"1\"", "\"\"", long.as_str()] {
            let answer = client.call(id, "d__echo", r#"{"n":1.0}"#).await.unwrap();
            assert_eq!(answer.id().as_deref(), Some(id), "{}", answer.text);
            assert!(answer.text.contains("1.0"), "{}", answer.text);
        }
        client.close_stdin().await;
        assert_eq!(client.exited(Duration::from_secs(10)).await.unwrap().code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_slow_to_end_is_ended_once() {
    const STAGE: Duration = Duration::from_secs(1);
    // KILL comes after two stages. The list is read in a process of its own, the client's is another.
    let ladder = STAGE * 2;
    for speaks in [Speaks::legacy(), Speaks::modern()] {
        let server = fake("d", &["--era", "legacy", "--ignore-eof", "--ignore-term"]);
        let folder = Folder::with(&format!("{server}sharing = \"per_client\"\nterminate = \"1s\"\n"));
        let client = start(&folder, speaks.clone()).await;
        client.request("\"list\"", "tools/list", "{}").await.unwrap();
        let report = client.call("1", "d__report", "{}").await.unwrap();
        let pid = report.text.split(r#""pid":"#).nth(1).and_then(|rest| rest.split([',', '}']).next());
        let process = format!("/proc/{}", pid.unwrap_or_else(|| panic!("{}", report.text)));
        assert!(Path::new(&process).exists());
        let begun = Instant::now();
        client.close_stdin().await;
        assert_eq!(client.exited(ladder * 4).await.unwrap().code(), Some(0));
        let took = begun.elapsed();
        assert!(took >= ladder, "{speaks:?}: it did not resist: {took:?}");
        assert!(took < ladder * 2 - STAGE / 4, "{speaks:?}: one after the other: {took:?}");
        assert!(!Path::new(&process).exists(), "{speaks:?}: it is still there");
    }
}
