//! `gatewayd stdio`: the same endpoint for one client over stdin and stdout.

use std::time::Duration;

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
