use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};

use super::{
    OauthCredentials, OauthError,
    address::Address,
    login::{LoginReport, Wish},
    page::plain_page,
    store::Owner,
};

/// Has the operator authorize the gateway: listens at a redirect URI on the loopback, hands the URL to `open`, which
/// shows it in a browser, and waits for the answer. The tokens are kept for [`Mode::Gateway`](super::Mode::Gateway).
/// Cancel-safe: what was begun is over then.
///
/// # Errors
/// [`OauthError`]; [`OauthError::TimedOut`] after [`login_time`](super::OauthLimits::login_time).
pub async fn login(credentials: &OauthCredentials, open: impl Fn(&str)) -> Result<LoginReport, OauthError> {
    let shared = &credentials.shared;
    if *credentials.mode() != super::Mode::Gateway {
        return Err(OauthError::Misconfigured("only tokens of the mode `gateway` are got by logging in"));
    }
    let mut receiver = Receiver::listen(shared.checked.config.redirect.as_deref()).await?;
    shared.probe().await?;
    let wish =
        Wish { owner: Owner::Gateway, redirect: receiver.redirect.clone(), browser: None, visit: None };
    open(&shared.begin(wish).await?);
    let time = shared.checked.config.limits.login_time;
    let answered = timeout(time, async {
        loop {
            let (query, connection) = receiver.next().await?;
            let ended = shared.finish(&query, None).await;
            tell(connection, ended.is_ok()).await;
            // Anybody can visit this address; only the answer with our state counts.
            if ended != Err(OauthError::UnknownState) {
                return ended;
            }
        }
    });
    answered.await.unwrap_or(Err(OauthError::TimedOut { after: time }))
}

/// Listens for what comes back to a redirect URI on the loopback. Ends with its value.
struct Receiver {
    redirect: String,
    answers: mpsc::Receiver<(String, TcpStream)>,
    _accepting: JoinSet<()>,
}

/// Connections that are read at a time.
const MOST_CONNECTIONS: usize = 16;
/// Bytes of a request's head.
const LONGEST_HEAD: usize = 16 * 1024;
const HEAD_TIME: Duration = Duration::from_secs(10);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl Receiver {
    /// Listens where the redirect URI says, or at a port that is free.
    async fn listen(redirect: Option<&str>) -> Result<Self, OauthError> {
        let address = redirect.map(Address::parse).transpose()?;
        let unusable = |error: std::io::Error| OauthError::Listen(error.to_string());
        let listener = TcpListener::bind(socket(address.as_ref())).await.map_err(unusable)?;
        let port = listener.local_addr().map_err(unusable)?.port();
        let redirect = redirect.map_or_else(|| format!("http://127.0.0.1:{port}/callback"), str::to_owned);
        let path = Address::parse(&redirect)?.path().to_owned();
        let (send, answers) = mpsc::channel(1);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, path, send));
        Ok(Self { redirect, answers, _accepting: accepting })
    }

    /// The query of the next request for the redirect URI, and where to answer it.
    async fn next(&mut self) -> Result<(String, TcpStream), OauthError> {
        self.answers.recv().await.ok_or(OauthError::Internal("nobody listens any more"))
    }
}

/// Where to listen for a redirect URI; `None`: at a port that is free.
fn socket(redirect: Option<&Address>) -> SocketAddr {
    let port = redirect.map_or(0, Address::port);
    if redirect.is_some_and(|address| address.origin().starts_with("http://[::1]")) {
        (Ipv6Addr::LOCALHOST, port).into()
    } else {
        (Ipv4Addr::LOCALHOST, port).into()
    }
}

async fn accept(listener: TcpListener, path: String, answers: mpsc::Sender<(String, TcpStream)>) {
    let mut connections = JoinSet::new();
    loop {
        if connections.len() >= MOST_CONNECTIONS {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((connection, _)) => {
                connections.spawn(serve(connection, path.clone(), answers.clone()));
            }
            // It is out of descriptors, or the like, which passes.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Reads one request. One for the redirect URI is handed on, any other is answered with 404.
async fn serve(mut connection: TcpStream, path: String, answers: mpsc::Sender<(String, TcpStream)>) {
    let Ok(Some(target)) = timeout(HEAD_TIME, target(&mut connection)).await else { return };
    let (own, query) = target.split_once('?').unwrap_or((&target, ""));
    if own == path {
        // Nobody waits any more: then nobody is told.
        let _ = answers.send((query.to_owned(), connection)).await;
    } else {
        respond(connection, "404 Not Found", &plain_page("There is nothing here.")).await;
    }
}

/// The target of a GET request, once its head is whole.
async fn target(connection: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let read = connection.read(&mut part).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(part.get(..read)?);
        if head.len() > LONGEST_HEAD {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}

async fn tell(connection: TcpStream, good: bool) {
    let text = if good {
        "The gateway is authorized. You may close this page."
    } else {
        "The gateway could not be authorized; its terminal says why. You may close this page."
    };
    respond(connection, if good { "200 OK" } else { "400 Bad Request" }, &plain_page(text)).await;
}

async fn respond(mut connection: TcpStream, status: &str, page: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: \
         no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: {}\r\nConnection: close\r\n\r\n",
        page.len(),
        super::page::POLICY,
    );
    let written = async {
        connection.write_all(head.as_bytes()).await?;
        connection.write_all(page.as_bytes()).await?;
        connection.shutdown().await
    };
    // The browser may be gone; the tokens are kept all the same.
    let _ = timeout(HEAD_TIME, written).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_is_listened_for_where_it_says() {
        let rows = [
            (None, "127.0.0.1:0"),
            (Some("http://127.0.0.1:7/cb"), "127.0.0.1:7"),
            (Some("http://localhost:7/cb"), "127.0.0.1:7"),
            (Some("http://[::1]:7/cb"), "[::1]:7"),
            (Some("http://127.0.0.1:7/[::1]"), "127.0.0.1:7"),
        ];
        for (redirect, expected) in rows {
            let address = redirect.map(|text| Address::parse(text).unwrap());
            assert_eq!(socket(address.as_ref()), expected.parse().unwrap(), "{redirect:?}");
        }
    }
}
