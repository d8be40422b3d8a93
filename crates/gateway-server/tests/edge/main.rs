//! The edge over real sockets and pipes, with ports that do what a test wants.

#[cfg(test)]
mod access;
#[cfg(test)]
mod along;
#[cfg(test)]
mod asking;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod listen;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod modern;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod stdio;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tokens;
