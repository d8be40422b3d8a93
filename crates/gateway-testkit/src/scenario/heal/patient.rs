//! Servers with one illness each.

use std::{fs, io};

use super::super::folder::Folder;
use crate::{
    Era, Profile,
    http::{Faults, HttpFake},
};

/// A downstream with one illness.
pub(super) struct Patient {
    pub(super) name: &'static str,
    server: Server,
}

enum Server {
    /// The fault, as the fake's control file has it.
    Process {
        fault: &'static str,
        control: String,
    },
    Address(HttpFake, fn(&HttpFake)),
}

/// What has come through to a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    pub(super) starts: usize,
    pub(super) requests: usize,
}

pub(super) fn patients(folder: &Folder) -> Vec<Patient> {
    let process = |fault: &'static str| {
        let control = folder.file(&format!("{fault}.control"));
        Patient { name: fault, server: Server::Process { fault, control } }
    };
    let address = |name, era, fail| {
        let fake = HttpFake::start(Profile { era, ..Profile::default() });
        Patient { name, server: Server::Address(fake, fail) }
    };
    vec![
        process("exit"),
        process("hang"),
        process("garbage"),
        address("status500", Era::Dual, |fake| fake.set(|faults| faults.status = Some(500))),
        address("status429", Era::Dual, |fake| fake.set(|faults| faults.status = Some(429))),
        address("nonsense", Era::Dual, |fake| fake.set(|faults| faults.body = Some("{oops".into()))),
        address("forgets", Era::Legacy, |fake| fake.set(forget)),
        address("refuses", Era::Dual, HttpFake::close),
    ]
}

/// Sessions can be had, and are gone when they are needed.
fn forget(faults: &mut Faults) {
    faults.only = Some("tools/call".to_owned());
    faults.status = Some(404);
    faults.body =
        Some(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"session not found"}}"#.into());
}

impl Patient {
    pub(super) fn is_process(&self) -> bool {
        matches!(self.server, Server::Process { .. })
    }

    pub(super) fn config(&self, folder: &Folder) -> String {
        let keys = "sharing = \"shared\"\ncall_timeout = \"2s\"\n";
        match &self.server {
            Server::Process { control, .. } => folder.fake(self.name, &format!("--control {control}"), keys),
            Server::Address(fake, _) => {
                format!("[downstreams.{}]\nurl = {:?}\n{keys}", self.name, fake.url())
            }
        }
    }

    pub(super) fn fail(&self) -> io::Result<()> {
        match &self.server {
            Server::Process { fault, control } => fs::write(control, fault),
            Server::Address(fake, fail) => {
                fail(fake);
                Ok(())
            }
        }
    }

    pub(super) fn heal(&self) -> io::Result<()> {
        match &self.server {
            Server::Process { control, .. } => fs::remove_file(control),
            Server::Address(fake, _) => {
                fake.heal();
                if self.name == "refuses" {
                    fake.open();
                }
                Ok(())
            }
        }
    }

    pub(super) fn reached(&self, folder: &Folder) -> Reached {
        match &self.server {
            Server::Process { .. } => {
                let (starts, requests) = (folder.starts(self.name), folder.requests(self.name));
                Reached { starts: starts.len(), requests: requests.len() }
            }
            Server::Address(fake, _) => {
                Reached { starts: 0, requests: usize::try_from(fake.request_count()).unwrap_or(usize::MAX) }
            }
        }
    }
}
