//! An HTTP API behind the gateway, among servers.

use gateway_testkit::client::{HttpClient, Speaks};

use crate::{
    shop::{self, DESCRIPTION, Shop},
    support::{Folder, PATIENCE, Serving, WATCHED, fake, hang_up, has, logged, until, write},
};

const SECRET: &str = "k3y-that-nobody-sees";

/// A folder with a configuration and a description of the API.
fn folder(config: &str) -> Folder {
    let folder = Folder::with(config);
    describe(&folder, DESCRIPTION);
    folder
}

fn describe(folder: &Folder, description: &str) {
    let path = folder.config().with_file_name("shop.yaml");
    std::fs::write(path.with_extension("new"), description).unwrap();
    std::fs::rename(path.with_extension("new"), path).unwrap();
}

async fn connect(serving: &Serving, speaks: Speaks) -> HttpClient {
    let client = HttpClient::connect(&serving.url, speaks).await.unwrap();
    until("shop__getPet", serving, async || has(&client, "shop__getPet").await).await;
    client
}

async fn call(client: &HttpClient, tool: &str, arguments: &str) -> String {
    client.call("1", tool, arguments).await.unwrap().text
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_tools_for_clients_of_both_eras() {
    let shop = Shop::open();
    let folder = folder(&format!("{}{}", shop.config(""), fake("server", &[])));
    let serving = Serving::start(&folder, &[]);
    for speaks in [Speaks::legacy(), Speaks::modern()] {
        let client = connect(&serving, speaks).await;
        until("server", &serving, async || has(&client, "server__echo").await).await;
        assert!(has(&client, "shop__listPets").await);
        for changes in ["shop__addPet", "shop__deletePet"] {
            assert!(!has(&client, changes).await, "by default nothing is changed: {changes}");
            let refused = call(&client, changes, r#"{"id":7}"#).await;
            assert!(refused.contains("-32602"), "{refused}");
        }
        let answer = call(&client, "shop__getPet", r#"{"id":9007199254740993}"#).await;
        let expected = r#""structuredContent":{"id":7,"name":"Rex","weight":1.0,"chip":9007199254740993}"#;
        assert!(answer.contains(expected), "byte for byte: {answer}");
        let refused = call(&client, "shop__getPet", "{}").await;
        assert!(
            refused.contains(r#""isError":true"#) && refused.contains("invalid arguments: "),
            "{refused}"
        );
        let lines: Vec<_> =
            shop.requests().iter().map(|request| request.lines().next().unwrap().to_owned()).collect();
        assert_eq!(lines.last().unwrap(), "GET /v2/pets/9007199254740993 HTTP/1.1");
    }
    assert_eq!(shop.requests().len(), 2, "what is refused is not asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn overrides_and_credentials_shape_what_is_asked_and_nobody_sees_a_secret() {
    let shop = Shop::open();
    let more = r#"
auth = { key = { file = "key" } }
headers = { X-Tenant = "acme" }
read_only = false
exclude = ["DELETE /pets/*"]
[downstreams.shop.overrides.listPets]
name = "pets"
title = "All pets"
arguments = { limit = { value = 3 } }
fields = ["name"]
[downstreams.shop.overrides."POST /pets"]
annotations = { destructive = true }
"#;
    let folder = folder(&shop.config(more));
    std::fs::write(folder.config().with_file_name("key"), SECRET).unwrap();
    let serving = Serving::start(&folder, &["--log-format", "json"]);
    let client = connect(&serving, Speaks::modern()).await;
    let listed = client.request("1", "tools/list", "{}").await.unwrap().text;
    for part in [r#""name":"shop__pets","title":"All pets""#, r#""destructiveHint":true"#] {
        assert!(listed.contains(part), "{part} is not in {listed}");
    }
    for part in ["shop__listPets", "shop__deletePet", r#""limit""#, "X-Key", "x-key"] {
        assert!(!listed.contains(part), "{part} is in {listed}");
    }
    let pets = call(&client, "shop__pets", r#"{"limit":100}"#).await;
    assert!(pets.contains(r#"{\"name\":\"Rex\"}"#) && !pets.contains("chip"), "{pets}");
    let added = call(&client, "shop__addPet", r#"{"body":{"weight":1.50}}"#).await;
    let requests = shop.requests();
    assert!(requests[0].starts_with("GET /v2/pets?limit=3 HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[1].starts_with("POST /v2/pets HTTP/1.1\r\n"), "{}", requests[1]);
    assert!(requests[1].ends_with("\r\n\r\n{\"weight\":1.50}"), "{}", requests[1]);
    for request in requests {
        let request = request.to_lowercase();
        assert!(request.contains(&format!("\r\nx-key: {SECRET}\r\n")), "{request}");
        assert!(request.contains("\r\nx-tenant: acme\r\n"), "{request}");
    }
    let checked = folder.run(&["check", "--json"]);
    let said = [listed, pets, added, serving.log(), format!("{checked:?}")].concat();
    assert!(!said.contains(SECRET), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_description_that_is_no_use_costs_only_its_own_tools_and_can_be_mended() {
    let shop = Shop::open();
    let folder = folder(&format!("{}{}", shop.config(""), fake("server", &[])));
    describe(&folder, "openapi: 3.0.3\npaths: 5\n");
    let checked = folder.run(&["check"]);
    let (out, said) =
        (String::from_utf8(checked.stdout).unwrap(), String::from_utf8(checked.stderr).unwrap());
    assert_eq!(checked.status.code(), Some(1));
    assert!(out.contains("server\tready") && out.contains("shop\tbroken"), "{out}");
    assert!(said.contains("downstream `shop` is broken: did not open a session: "), "{said}");
    assert!(said.contains("shop.yaml is not a description of an API that can be used: "), "{said}");

    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    until("the other", &serving, async || has(&client, "server__echo").await).await;
    assert!(!has(&client, "shop__getPet").await);
    describe(&folder, DESCRIPTION);
    until("mended", &serving, async || has(&client, "shop__getPet").await).await;
    assert!(call(&client, "shop__getPet", r#"{"id":7}"#).await.contains("Rex"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_description_that_changes_is_taken_on_while_it_runs() {
    let shop = Shop::open();
    let folder = folder(&shop.config(""));
    let serving = Serving::start(&folder, &WATCHED);
    let client = connect(&serving, Speaks::legacy()).await;
    let mut stream = client.listen().await.unwrap();
    describe(&folder, &DESCRIPTION.replace("getPet", "onePet"));
    let told = tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
    assert!(told.contains("notifications/tools/list_changed"), "{told}");
    until("onePet", &serving, async || has(&client, "shop__onePet").await).await;
    assert!(!has(&client, "shop__getPet").await);
    describe(&folder, "openapi: [");
    logged(&serving, "the new description of the API is not used", 1).await;
    assert!(call(&client, "shop__onePet", r#"{"id":7}"#).await.contains("Rex"), "the one before stays");
    assert_eq!(
        serving.log().matches("configuration reloaded").count(),
        0,
        "it is no part of the configuration"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_has_descriptions_read_again_that_nobody_watches() {
    let shop = Shop::open();
    let folder = folder(&shop.config(""));
    let serving = Serving::start(&folder, &["--no-watch"]);
    let client = connect(&serving, Speaks::modern()).await;
    describe(&folder, &DESCRIPTION.replace("getPet", "onePet"));
    hang_up(serving.pid());
    until("onePet", &serving, async || has(&client, "shop__onePet").await).await;
    assert!(!has(&client, "shop__getPet").await);
    logged(&serving, "configuration reloaded", 1).await;
    assert!(serving.log().contains("kept=1"), "{}", serving.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_is_down_is_told_of_in_results_and_used_again_when_it_is_back() {
    let shop = Shop::open();
    let address = shop.address;
    let folder = folder(&shop.config("required = true"));
    let serving = Serving::start(&folder, &[]);
    let client = connect(&serving, Speaks::modern()).await;
    assert!(call(&client, "shop__getPet", r#"{"id":7}"#).await.contains("Rex"));
    drop(shop);
    for _ in 0..10 {
        let failed = call(&client, "shop__getPet", r#"{"id":7}"#).await;
        assert!(
            failed.contains(r#""isError":true"#) && failed.contains("upstream call failed: "),
            "{failed}"
        );
        assert!(!failed.contains("127.0.0.1"), "no addresses: {failed}");
    }
    assert!(has(&client, "shop__getPet").await, "it stays on the list");
    logged(&serving, "cannot be reached", 1).await;
    let checked = folder.run(&["check"]);
    let out = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(1), "{out}");
    let expected = "shop\tdegraded\t2026-07-28\t2 tools";
    assert!(out.contains(expected) && out.contains("cannot be reached: connection refused"), "{out}");
    let _shop = Shop::open_at(address);
    assert!(call(&client, "shop__getPet", r#"{"id":7}"#).await.contains("Rex"), "at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_offers_what_the_configuration_says_then() {
    let shop = Shop::open();
    let folder = folder(&shop.config(""));
    let serving = Serving::start(&folder, &WATCHED);
    let client = connect(&serving, Speaks::modern()).await;
    write(&folder, &shop.config("read_only = false"));
    until("addPet", &serving, async || has(&client, "shop__addPet").await).await;
    write(&folder, &shop.config("readonly = true"));
    logged(&serving, "did you mean `read_only`?", 1).await;
    assert!(has(&client, "shop__addPet").await, "what is misspelt changes nothing");
    write(&folder, &shop.config("include = [\"listPets\"]"));
    until("addPet gone", &serving, async || !has(&client, "shop__addPet").await).await;
    until("listPets", &serving, async || has(&client, "shop__listPets").await).await;
    assert!(!has(&client, "shop__getPet").await);
    let refused = call(&client, "shop__addPet", r#"{"body":{}}"#).await;
    assert!(refused.contains("-32602"), "{refused}");
    assert!(shop.requests().is_empty());
}

#[test]
fn check_tells_of_each_operation() {
    let shop = Shop::open();
    let more = "tools = { deny = [\"listPets\"] }\n[downstreams.shop.overrides.getPett]\nname = \"pet\"";
    let folder = folder(&shop.config(more));
    let checked = folder.run(&["check"]);
    let out = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{out}");
    let lines: Vec<_> = out.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "\tnote: the override `getPett` is for no operation",
            "\ttaken listPets GET /pets",
            "\t\tgoes without credentials: none are configured for key",
            "\t\tnot offered: `tools` leaves it out",
            "\ttaken getPet GET /pets/{id} as shop__getPet",
            "\t\tgoes without credentials: none are configured for key",
            "\tskipped POST /pets addPet: not read-only: POST",
            "\tskipped DELETE /pets/{id} deletePet: not read-only: DELETE",
        ]
    );
    let out = String::from_utf8(folder.run(&["check", "--json"]).stdout).unwrap();
    let expected = concat!(
        r#""operations":{"taken":["#,
        r#"{"id":"listPets","method":"GET","path":"/pets","tool":null,"notes":["goes without credentials: none are configured for key","not offered: `tools` leaves it out"]},"#,
        r#"{"id":"getPet","method":"GET","path":"/pets/{id}","tool":"shop__getPet","notes":["goes without credentials: none are configured for key"]}],"#,
        r#""skipped":[{"id":"addPet","method":"POST","path":"/pets","reason":"not read-only: POST"},"#,
        r#"{"id":"deletePet","method":"DELETE","path":"/pets/{id}","reason":"not read-only: DELETE"}],"#,
        r#""notes":["the override `getPett` is for no operation"]}}"#
    );
    assert!(out.contains(expected), "{out}");
}

#[test]
fn an_api_of_which_nothing_is_offered_is_ready_and_says_why() {
    let shop = Shop::open();
    let folder = folder(&shop.config("include = [\"POST\"]"));
    let checked = folder.run(&["check"]);
    let out = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{out}");
    assert!(out.starts_with("shop\tready\t2026-07-28\t0 tools"), "{out}");
    assert!(out.contains("\tnote: nothing is offered: all 4 operations are left out\n"), "{out}");
    assert!(out.contains("\tskipped GET /pets listPets: matches no include\n"), "{out}");
}

#[test]
fn what_is_wrong_in_the_configuration_is_said_before_anything_is_asked() {
    let nobody = "127.0.0.1:9".parse().unwrap();
    for (more, problem) in [
        ("readonly = false", "did you mean `read_only`?"),
        ("auth = { key = { env = \"NOT_SET_ANYWHERE\" } }", "NOT_SET_ANYWHERE is not set"),
        ("include = [\"/pets[\"]", "fits no path"),
    ] {
        let checked = folder(&shop::config(nobody, more)).run(&["check"]);
        let said = String::from_utf8(checked.stderr).unwrap();
        assert_eq!(checked.status.code(), Some(2), "{said}");
        assert!(said.contains(problem), "{said}");
    }
}
