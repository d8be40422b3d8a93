//! The cells of one feature, and how they are run side by side.

use std::{fmt, sync::LazyLock, time::Duration};

use gateway_testkit::{Era, client::Speaks};
use tokio::{sync::Semaphore, task::JoinSet};

/// How two programs are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Http,
    Stdio,
}

/// One place in the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) client: Era,
    pub(crate) server: Era,
    /// Between gateway and server; between client and server if there is no gateway.
    pub(crate) downstream: Wire,
    /// Between client and gateway; `None`: there is none.
    pub(crate) face: Option<Wire>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let era = |era| if era == Era::Modern { "modern" } else { "legacy" };
        let wire = |wire| if wire == Wire::Http { "http" } else { "stdio" };
        let (client, server, downstream) = (era(self.client), era(self.server), wire(self.downstream));
        write!(f, "{client} client, {server} server over {downstream}, ")?;
        match self.face {
            Some(face) => write!(f, "{} face", wire(face)),
            None => write!(f, "direct"),
        }
    }
}

impl Cell {
    pub(crate) fn modern_client(self) -> bool {
        self.client == Era::Modern
    }

    pub(crate) fn modern_server(self) -> bool {
        self.server == Era::Modern
    }

    pub(crate) fn is_direct(self) -> bool {
        self.face.is_none()
    }

    /// Over HTTP from the client's point of view.
    pub(crate) fn http_client(self) -> bool {
        self.face.unwrap_or(self.downstream) == Wire::Http
    }

    pub(crate) fn speaks(self, revision: &str) -> Speaks {
        if self.modern_client() { Speaks::modern() } else { Speaks::Legacy(revision.to_owned()) }
    }
}

/// All cells: sixteen through the gateway, four without.
pub(crate) fn all() -> Vec<Cell> {
    let (eras, wires) = ([Era::Legacy, Era::Modern], [Wire::Http, Wire::Stdio]);
    let mut cells = Vec::new();
    for client in eras {
        for downstream in wires {
            cells.push(Cell { client, server: client, downstream, face: None });
            for (server, face) in eras.into_iter().flat_map(|server| wires.map(|face| (server, face))) {
                cells.push(Cell { client, server, downstream, face: Some(face) });
            }
        }
    }
    cells
}

fn chosen(cell: &Cell) -> bool {
    let route = match std::env::var("MATRIX_ROUTE").as_deref() {
        Ok("direct") => cell.is_direct(),
        Ok("gateway") => !cell.is_direct(),
        _ => true,
    };
    route && std::env::var("MATRIX_ONLY").map_or(true, |text| cell.to_string().contains(&text))
}

/// Runs a feature in every cell, and fails with all cells that fail.
pub(crate) async fn check<F>(feature: fn(Cell) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    // Built once, if need be, before any clock runs.
    tokio::task::block_in_place(gateway_testkit::stdio::fake_mcp);
    let mut running = JoinSet::new();
    let cells: Vec<Cell> = all().into_iter().filter(chosen).collect();
    let count = cells.len();
    for cell in cells {
        running.spawn(async move {
            let _turn = LIMIT.acquire().await.unwrap();
            let outcome = tokio::spawn(async move { tokio::time::timeout(PATIENCE, feature(cell)).await });
            let why = match outcome.await {
                Ok(Ok(())) => return None,
                Ok(Err(_)) => format!("nothing more after {PATIENCE:?}"),
                Err(panicked) => reason(panicked),
            };
            Some(format!("{cell}: {why}"))
        });
    }
    let mut failed: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    failed.sort();
    assert!(failed.is_empty(), "{} of {count} cells fail:\n{}", failed.len(), failed.join("\n"));
}

fn reason(panicked: tokio::task::JoinError) -> String {
    let Ok(panic) = panicked.try_into_panic() else { return "stopped".to_owned() };
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

/// How long a cell may take.
const PATIENCE: Duration = Duration::from_secs(40);

/// Cells at a time, whatever feature they are of.
static LIMIT: LazyLock<Semaphore> = LazyLock::new(|| {
    let limit = std::env::var("MATRIX_LIMIT").ok().and_then(|n| n.parse().ok());
    Semaphore::new(limit.unwrap_or(6))
});
