//! Counts the open sockets, in total and per client, and rejects sockets beyond a limit. Sockets
//! without a key get a quarter of the slots. A slot is released when it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::http::auth::Client;
use crate::http::problem::{self, Code, Problem};

/// Open sockets, in total and per key.
#[derive(Debug)]
pub struct Sockets {
    most: usize,
    taken: Mutex<Taken>,
    open: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Taken {
    of_clients: HashMap<String, usize>,
    /// Number of sockets whose clients have sent no key yet.
    without_key: usize,
}

/// Slot for a socket, which is released when it is dropped.
#[derive(Debug)]
pub struct Slot {
    sockets: Arc<Sockets>,
    client: String,
    has_key: bool,
}

/// Limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    ClientLimit,
    ServerLimit,
}

impl Sockets {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            taken: Mutex::default(),
            open: watch::Sender::new(0),
        }
    }

    /// Returns the number of open sockets.
    pub fn open(&self) -> usize {
        *self.open.borrow()
    }

    /// Takes a slot for a client.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn take(self: &Arc<Self>, client: &Client) -> Result<Slot, Full> {
        let has_key = !client.scopes.is_empty();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if self.open() >= self.most || !has_key && taken.without_key >= self.most.div_ceil(4) {
            return Err(Full::ServerLimit);
        }
        let count = taken.of_clients.entry(client.id.clone()).or_insert(0);
        if *count as u64 >= client.plan.stream_sockets {
            return Err(Full::ClientLimit);
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

    /// Completes when no socket is open.
    pub async fn drained(&self) {
        let _ = self.open.subscribe().wait_for(|open| *open == 0).await;
    }

    /// Reserves a socket slot for a client, up to the limit of the client's plan.
    ///
    /// # Errors
    /// `rate_limited` with the limit and the time to retry.
    pub fn admit(self: &Arc<Self>, client: &Client) -> problem::Result<Slot> {
        self.take(client).map_err(|full| match full {
            Full::ClientLimit => {
                let detail = format!(
                    "the plan allows {} open sockets; close one first",
                    client.plan.stream_sockets
                );
                Problem {
                    retry_after: Some(60),
                    ..Problem::new(Code::RateLimited, detail)
                }
            }
            Full::ServerLimit => Problem {
                retry_after: Some(10),
                ..Problem::new(
                    Code::RateLimited,
                    "the server has reached its limit of open sockets; try again later",
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
        assert_eq!(take("a").unwrap_err(), Full::ClientLimit);
        let _third = take("b").unwrap();
        assert_eq!(take("c").unwrap_err(), Full::ServerLimit);
        drop(first);
        assert_eq!(sockets.open(), 2);
        assert!(take("a").is_ok(), "the slot is released at once");
        assert_eq!(sockets.open(), 2);
    }

    #[test]
    fn sockets_without_a_key_get_at_most_a_quarter() {
        let sockets = Arc::new(Sockets::new(8));
        let take = |id: &str| sockets.take(&client(id, &[]));
        let first = take("address 192.0.2.1").unwrap();
        let _second = take("address 192.0.2.2").unwrap();
        assert_eq!(take("address 192.0.2.3").unwrap_err(), Full::ServerLimit);
        assert!(sockets.take(&client("a", &[Scope::Stream])).is_ok());
        drop(first);
        assert!(take("address 192.0.2.3").is_ok(), "and given back at once");
    }
}
