//! Bytes in, bytes out: for requests no HTTP library would send.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Sends these bytes and returns what comes back until the other side closes or has been quiet for half a
/// second (at most the first 16 MiB). An early close by the other side is no error: its bytes so far are the
/// answer.
pub async fn raw(addr: SocketAddr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    raw_until(addr, bytes, Duration::from_millis(500)).await
}

/// As [`raw`], with the time of quiet that ends it.
pub async fn raw_until(addr: SocketAddr, bytes: &[u8], quiet: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.split();
    let mut answer = Vec::new();
    let write = async {
        // Refused in the middle of a large request: what was answered still counts.
        drop(writer.write_all(bytes).await);
        std::future::pending::<()>().await;
    };
    let read = async {
        let mut piece = vec![0; 65_536];
        while answer.len() < MOST {
            match timeout(quiet, reader.read(&mut piece)).await {
                Ok(Ok(n)) if n > 0 => answer.extend_from_slice(&piece[..n]),
                _ => return,
            }
        }
    };
    tokio::select! {
        () = write => {}
        () = read => {}
    }
    Ok(answer)
}

const MOST: usize = 16 << 20;
