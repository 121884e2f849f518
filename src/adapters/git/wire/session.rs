//! A conversation with a server, from the list of its refs to one request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use git2::{OdbLookupFlags, Oid, Repository};
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use super::advertisement::{self, Advertisement};
use super::body::Body;
use super::fault::Fault;
use super::fetch;
use super::http::{Http, credential};
use super::packet::Packets;
use super::push::{self, Report};
use super::service::Service;
use super::ssh;
use super::ssh_process::Input;
use crate::adapters::git::Error;
use crate::adapters::git::access::Access;
use crate::adapters::git::address::{HttpPlace, SshPlace};
use crate::adapters::git::hooks::Change;

/// Where a server's repository is.
#[derive(Clone, Debug)]
enum Place {
    Http(HttpPlace),
    Ssh(SshPlace),
}

/// A repository on a server.
pub(in crate::adapters::git) struct Server {
    shown: String,
    place: Place,
    access: Access,
    /// One thread, so that connections stay open between two fetches. Given up without waiting for it.
    runtime: Option<Runtime>,
    /// The client, while no session has it; dropped when something failed, so that the credential is read
    /// again.
    client: Mutex<Option<Http>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("url", &self.shown)
            .finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A server that has listed its refs.
pub(in crate::adapters::git) struct Session<'s> {
    server: &'s Server,
    service: Service,
    advertisement: Advertisement,
    link: Link,
}

enum Link {
    Http(Box<Http>),
    Ssh(Box<(Input, Packets)>),
    /// It was used, or has failed.
    Closed,
}

impl Server {
    pub(in crate::adapters::git) fn http(
        shown: &str,
        place: HttpPlace,
        access: Access,
    ) -> Result<Self, Error> {
        Self::new(shown, Place::Http(place), access)
    }

    pub(in crate::adapters::git) fn ssh(
        shown: &str,
        place: SshPlace,
        access: Access,
    ) -> Result<Self, Error> {
        Self::new(shown, Place::Ssh(place), access)
    }

    fn new(shown: &str, place: Place, access: Access) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("git")
            .enable_all()
            .build()
            .map_err(|cause| Error::disk("/dev/epoll".as_ref(), &cause))?;
        Ok(Self {
            shown: shown.to_owned(),
            place,
            access,
            runtime: Some(runtime),
            client: Mutex::new(None),
        })
    }

    /// Its address as it may be shown.
    pub(in crate::adapters::git) fn shown(&self) -> &str {
        &self.shown
    }

    /// Connects to a service of the repository.
    pub(in crate::adapters::git) fn open(&self, service: Service) -> Result<Session<'_>, Error> {
        let opened = self.wait(async {
            match &self.place {
                Place::Http(place) => self.open_http(place, service).await,
                Place::Ssh(place) => self.open_ssh(place, service).await,
            }
        });
        let (advertisement, link) = opened?;
        Ok(Session {
            server: self,
            service,
            advertisement,
            link,
        })
    }

    async fn open_http(
        &self,
        place: &HttpPlace,
        service: Service,
    ) -> Result<(Advertisement, Link), Fault> {
        let kept = self.client.lock().take();
        let mut http = match kept {
            Some(http) => http,
            None => Http::new(&self.shown, place, &self.access).await?,
        };
        let response = http.discover(service).await?;
        let mut packets = Packets::new(Body::Http(response));
        let found = advertisement::read(&mut packets, Some(service.name())).await?;
        Ok((found, Link::Http(Box::new(http))))
    }

    async fn open_ssh(
        &self,
        place: &SshPlace,
        service: Service,
    ) -> Result<(Advertisement, Link), Fault> {
        let credential = credential(&self.access).await?;
        let process = ssh::start(&self.shown, place, &self.access, &credential, service)?;
        let mut packets = Packets::new(Body::Ssh(process.output));
        let found = advertisement::read(&mut packets, None).await?;
        Ok((found, Link::Ssh(Box::new((process.input, packets)))))
    }

    /// Blocks until the work is done, or takes too long: a server that always sends a little is never idle.
    fn wait<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Error> {
        let Some(runtime) = &self.runtime else {
            return Err(Fault::Cut.at(&self.shown));
        };
        let total = self.access.patience.total;
        let done = runtime.block_on(async { tokio::time::timeout(total, work).await });
        done.unwrap_or(Err(Fault::Slow(total)))
            .map_err(|fault| fault.at(&self.shown))
    }
}

impl Session<'_> {
    /// What each ref points to.
    pub(in crate::adapters::git) const fn refs(&self) -> &BTreeMap<String, Oid> {
        &self.advertisement.refs
    }

    /// Returns true if it can make no more requests.
    pub(in crate::adapters::git) const fn is_closed(&self) -> bool {
        matches!(self.link, Link::Closed)
    }

    /// Brings what of `wanted` the repository lacks. `before` is what the refs pointed to before.
    pub(in crate::adapters::git) fn fetch(
        &mut self,
        repository: &Repository,
        wanted: &BTreeSet<Oid>,
        before: &BTreeSet<Oid>,
    ) -> Result<(), Error> {
        let damaged = |cause| Error::damaged(repository, &cause);
        let odb = repository.odb().map_err(damaged)?;
        // Once, and not for each that is missing.
        odb.refresh().map_err(damaged)?;
        let is_missing = |id: &Oid| !odb.exists_ext(*id, OdbLookupFlags::NO_REFRESH);
        let wants: BTreeSet<Oid> = wanted.iter().copied().filter(is_missing).collect();
        if wants.is_empty() {
            return Ok(());
        }
        let haves = fetch::haves(repository, before).map_err(damaged)?;
        let request = fetch::request(&self.advertisement, &wants, &haves);
        let request = request.map_err(|fault| fault.at(&self.server.shown))?;
        let limit = self.server.access.limit;
        self.exchange(request, async |packets| {
            fetch::receive(packets, repository, limit).await
        })?;
        odb.refresh().map_err(damaged)?;
        match wants.iter().find(|id| is_missing(id)) {
            None => Ok(()),
            Some(_) => Err(Fault::Cut.at(&self.server.shown)),
        }
    }

    /// Writes the pack of `wants` to a file as it is, without what `haves` lead to.
    pub(in crate::adapters::git) fn save(
        &mut self,
        wants: &BTreeSet<Oid>,
        haves: &[Oid],
        file: &Path,
        limit: u64,
    ) -> Result<(), Error> {
        let request = fetch::request(&self.advertisement, wants, haves);
        let request = request.map_err(|fault| fault.at(&self.server.shown))?;
        self.exchange(request, async |packets| {
            fetch::save(packets, file, limit).await
        })
    }

    /// Makes `change`, with what of `from` the server lacks.
    pub(in crate::adapters::git) fn push(
        &mut self,
        from: &Repository,
        change: Change<'_>,
    ) -> Result<Report, Error> {
        if self.refs().get(change.reference).copied() != change.old {
            return Ok(Report::Moved);
        }
        if change.new.is_none() && !self.advertisement.has("delete-refs") {
            let cause = "it does not let refs be deleted";
            return Ok(Report::Refused(cause.to_owned()));
        }
        let request = push::request(&self.advertisement, from, change);
        match request.map_err(|fault| fault.at(&self.server.shown))? {
            Some(request) => self.exchange(request, push::receive),
            None => Ok(Report::Moved),
        }
    }

    /// Makes the one request of this session.
    fn exchange<T>(
        &mut self,
        request: Vec<u8>,
        read: impl AsyncFnOnce(&mut Packets) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let service = self.service;
        match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Http(mut http) => {
                let done = self.server.wait(async {
                    let response = http.request(service, request).await?;
                    read(&mut Packets::new(Body::Http(response))).await
                })?;
                self.link = Link::Http(http);
                Ok(done)
            }
            Link::Ssh(mut ssh) => self.server.wait(async {
                let (input, packets) = &mut *ssh;
                let written = input.write(&request).await;
                // If ssh has ended, what it says is the better error.
                let done = read(packets).await?;
                written.map(|()| done)
            }),
            Link::Closed => Err(Fault::Cut.at(&self.server.shown)),
        }
    }
}

/// A client that works is kept for the next session. A server that is still listening is released.
impl Drop for Session<'_> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Http(http) => {
                let mut client = self.server.client.lock();
                *client = Some(*http);
            }
            Link::Ssh(mut ssh) => {
                let released = async { ssh.0.write(b"0000").await };
                drop(self.server.wait(released));
            }
            Link::Closed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;
    use crate::adapters::git::access::Patience;
    use crate::model::ErrorClass;

    #[test]
    fn a_server_that_always_sends_a_little_is_given_up_after_the_whole_time() {
        let patience = Patience {
            total: Duration::from_millis(50),
            ..Patience::default()
        };
        let access = Access {
            patience,
            ..Access::default()
        };
        let place = SshPlace {
            user: None,
            host: "h".to_owned(),
            port: None,
            path: "/r".to_owned(),
        };
        let server = Server::ssh("ssh://h/r", place, access).unwrap();
        let answer = server.wait(async {
            // Far longer than it may take, so that the test ends without the limit too.
            for _ in 0..400 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(())
        });
        let error = answer.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Transient);
        let cause = "its answer was not complete after 0.05 s";
        assert!(error.to_string().contains(cause), "{error}");
        assert_eq!(Patience::default().total, Duration::from_secs(3_600));
    }
}
