//! Lists of many downstreams, one of which never answers.

use std::{fmt::Write as _, io, sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::Instant};

use super::{
    Bench,
    figures::{millis, quantile, spread},
    folder::Folder,
    gateway::{Gateway, ROOM},
    report::Report,
};
use crate::{
    Era, Paging, Profile,
    client::{Answer, HttpClient, Speaks},
    fixtures,
    http::HttpFake,
};

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let mut report = Report::default();
    let fakes: Vec<_> = (0..FAKES).map(fake).collect();
    let gateway = Gateway::start(bench, folder, &config(folder, &fakes)).await?;
    let callers = bench.count(1000, 100);
    let (mut times, answers) = crowd(&gateway, callers).await?;
    let fine = answers.iter().filter(|answer| answer.result_member("tools").is_some()).count();
    report.figure(format!("{fine} of {callers} first lists in {}", spread(&mut times)));
    report.demand(fine == answers.len(), || format!("{} lists failed", answers.len() - fine));
    let slowest = quantile(&times, 100);
    report.demand_in_time(slowest <= BUDGET, || format!("the slowest took {} ms", millis(slowest)));
    let named = answers.iter().filter(|answer| meta(answer).contains("silent")).count();
    report.demand(named == answers.len(), || {
        format!("{} lists do not name the silent downstream", answers.len() - named)
    });
    warm(&mut report, &gateway).await?;
    for (number, fake) in fakes.iter().enumerate() {
        let pulls = fake.requests_of("tools/list").len();
        report.demand(pulls == PAGES, || format!("fake {number} was asked for {pulls} pages, not {PAGES}"));
    }
    Ok(report)
}

/// Every other one is legacy.
fn fake(number: usize) -> HttpFake {
    let era = if number.is_multiple_of(2) { Era::Modern } else { Era::Legacy };
    let tools = fixtures::tools(TOOLS);
    HttpFake::start(Profile {
        era,
        tools,
        paging: Paging::Size(TOOLS.div_ceil(PAGES)),
        ttl_ms: 600_000,
        ..Profile::default()
    })
}

fn config(folder: &Folder, fakes: &[HttpFake]) -> String {
    let mut text = folder.fake("silent", "--silent", "");
    for (number, fake) in fakes.iter().enumerate() {
        // Writing to a String does not fail.
        let _ = write!(text, "[downstreams.fake{number}]\nurl = {:?}\nsharing = \"shared\"\n", fake.url());
    }
    text + ROOM
}

/// Everybody at once, as soon as the gateway listens.
async fn crowd(gateway: &Gateway, callers: u32) -> io::Result<(Vec<Duration>, Vec<Answer>)> {
    let client = Arc::new(gateway.client(Speaks::modern()).await?);
    let mut lists = JoinSet::new();
    for _ in 0..callers {
        let client = Arc::clone(&client);
        lists.spawn(async move {
            let begun = Instant::now();
            let answer = list(&client, "{}").await?;
            io::Result::Ok((begun.elapsed(), answer))
        });
    }
    let answers: io::Result<Vec<_>> = lists.join_all().await.into_iter().collect();
    Ok(answers?.into_iter().unzip())
}

/// All tools are there, and lists no longer wait for anybody.
async fn warm(report: &mut Report, gateway: &Gateway) -> io::Result<()> {
    let client = gateway.client(Speaks::modern()).await?;
    let (mut tools, mut cursor) = (0, "{}".to_owned());
    loop {
        let answer = list(&client, &cursor).await?;
        tools += answer.result_member("tools").map_or(0, |tools| tools.matches(r#""inputSchema""#).count());
        let Some(next) = answer.result_member("nextCursor") else { break };
        cursor = format!(r#"{{"cursor":{next}}}"#);
    }
    report.demand(tools == TOOLS * FAKES, || format!("{tools} tools are listed, not {}", TOOLS * FAKES));
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        list(&client, "{}").await?;
        times.push(begun.elapsed());
    }
    report.figure(format!("{tools} tools, warm {}", spread(&mut times)));
    let late = quantile(&times, 99);
    report
        .demand_in_time(late <= Duration::from_millis(50), || format!("warm lists take {} ms", millis(late)));
    Ok(())
}

async fn list(client: &HttpClient, params: &str) -> io::Result<Answer> {
    client.request(&client.next_id(), "tools/list", params).await
}

fn meta(answer: &Answer) -> String {
    answer.result_member("_meta").unwrap_or_default()
}

const FAKES: usize = 15;
const TOOLS: usize = 25;
const PAGES: usize = 3;

/// The default budget of lists, and room for a thousand answers on a small machine.
const BUDGET: Duration = Duration::from_millis(6500);
