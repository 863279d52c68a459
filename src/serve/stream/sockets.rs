//! Counts the open sockets, of each client and in all, and refuses one beyond a limit. Those whose
//! key is still awaited have a quarter. A place is given back when it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::http::auth::Client;
use crate::http::problem::{self, Code, Problem};

/// Counts the sockets that are open, in all and for each key.
#[derive(Debug)]
pub struct Sockets {
    most: usize,
    taken: Mutex<Taken>,
    open: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Taken {
    of_clients: HashMap<String, usize>,
    /// Of those, the ones whose clients have sent no key yet.
    without_key: usize,
}

/// A socket's place; given back when dropped.
#[derive(Debug)]
pub struct Slot {
    sockets: Arc<Sockets>,
    client: String,
    has_key: bool,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    OfClient,
    OfServer,
}

impl Sockets {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            taken: Mutex::default(),
            open: watch::Sender::new(0),
        }
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        *self.open.borrow()
    }

    /// Takes a place for a client.
    ///
    /// # Errors
    /// Which limit is reached.
    pub fn take(self: &Arc<Self>, client: &Client) -> Result<Slot, Full> {
        let has_key = !client.scopes.is_empty();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if self.open() >= self.most || !has_key && taken.without_key >= self.most.div_ceil(4) {
            return Err(Full::OfServer);
        }
        let count = taken.of_clients.entry(client.id.clone()).or_insert(0);
        if *count as u64 >= client.plan.stream_sockets {
            return Err(Full::OfClient);
        }
        *count += 1;
        taken.without_key += usize::from(!has_key);
        self.open.send_modify(|open| *open += 1);
        Ok(Slot {
            sockets: self.clone(),
            client: client.id.clone(),
            has_key,
        })
    }

    /// Ends when no socket is open.
    pub async fn drained(&self) {
        let _ = self.open.subscribe().wait_for(|open| *open == 0).await;
    }

    /// Takes a place for a socket of a client, as its plan allows.
    ///
    /// # Errors
    /// `rate_limited`, naming the limit and when to try again.
    pub fn admit(self: &Arc<Self>, client: &Client) -> problem::Result<Slot> {
        self.take(client).map_err(|full| match full {
            Full::OfClient => {
                let detail = format!(
                    "the plan allows {} open sockets; close one first",
                    client.plan.stream_sockets
                );
                Problem {
                    retry_after: Some(60),
                    ..Problem::new(Code::RateLimited, detail)
                }
            }
            Full::OfServer => Problem {
                retry_after: Some(10),
                ..Problem::new(
                    Code::RateLimited,
                    "the server has as many sockets as it can; try again later",
                )
            },
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self
            .sockets
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.of_clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                taken.of_clients.remove(&self.client);
            }
        }
        taken.without_key -= usize::from(!self.has_key);
        self.sockets.open.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::http::auth::Client;
    use crate::stream::sockets::{Full, Sockets};
    use pubdata_store::{Plan, Scope};

    fn client(id: &str, scopes: &[Scope]) -> Client {
        let plan = Plan {
            requests_per_minute: 60,
            burst: 60,
            stream_sockets: 2,
        };
        Client {
            id: id.to_owned(),
            secret: None,
            scopes: scopes.to_vec(),
            plan_name: "free".to_owned(),
            plan,
        }
    }

    #[test]
    fn places_are_counted_for_each_client_and_in_all() {
        let sockets = Arc::new(Sockets::new(3));
        let take = |id: &str| sockets.take(&client(id, &[Scope::Stream]));
        let first = take("a").unwrap();
        let _second = take("a").unwrap();
        assert_eq!(take("a").unwrap_err(), Full::OfClient);
        let _third = take("b").unwrap();
        assert_eq!(take("c").unwrap_err(), Full::OfServer);
        drop(first);
        assert_eq!(sockets.open(), 2);
        assert!(take("a").is_ok(), "and given back at once");
        assert_eq!(sockets.open(), 2);
    }

    #[test]
    fn those_without_a_key_never_have_more_than_a_quarter() {
        let sockets = Arc::new(Sockets::new(8));
        let take = |id: &str| sockets.take(&client(id, &[]));
        let first = take("address 192.0.2.1").unwrap();
        let _second = take("address 192.0.2.2").unwrap();
        assert_eq!(take("address 192.0.2.3").unwrap_err(), Full::OfServer);
        assert!(sockets.take(&client("a", &[Scope::Stream])).is_ok());
        drop(first);
        assert!(take("address 192.0.2.3").is_ok(), "and given back at once");
    }
}
