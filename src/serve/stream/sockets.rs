//! Counts the open sockets, of each client and in all, and refuses one beyond a limit. A place is given back when it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::http::auth::Client;
use crate::http::problem::{self, Code, Problem};

/// Counts the sockets that are open, in all and for each key.
#[derive(Debug)]
pub struct Sockets {
    most: usize,
    of_clients: Mutex<HashMap<String, usize>>,
    open: watch::Sender<usize>,
}

/// A socket's place; given back when dropped.
#[derive(Debug)]
pub struct Slot {
    sockets: Arc<Sockets>,
    client: String,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    OfClient,
    OfServer,
}

impl Sockets {
    pub fn new(most: usize) -> Self {
        Self { most, of_clients: Mutex::default(), open: watch::Sender::new(0) }
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        *self.open.borrow()
    }

    /// Takes a place for a client that may have so many.
    ///
    /// # Errors
    /// Which limit is reached.
    pub fn take(self: &Arc<Self>, client: &str, most: u64) -> Result<Slot, Full> {
        let mut of_clients = self.of_clients.lock().unwrap_or_else(PoisonError::into_inner);
        if self.open() >= self.most {
            return Err(Full::OfServer);
        }
        let count = of_clients.entry(client.to_owned()).or_insert(0);
        if *count as u64 >= most {
            return Err(Full::OfClient);
        }
        *count += 1;
        self.open.send_modify(|open| *open += 1);
        Ok(Slot { sockets: self.clone(), client: client.to_owned() })
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
        self.take(&client.id, client.plan.stream_sockets).map_err(|full| match full {
            Full::OfClient => {
                let detail = format!("the plan allows {} open sockets; close one first", client.plan.stream_sockets);
                Problem { retry_after: Some(60), ..Problem::new(Code::RateLimited, detail) }
            }
            Full::OfServer => Problem { retry_after: Some(10), ..Problem::new(Code::RateLimited, "the server has as many sockets as it can; try again later") },
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut of_clients = self.sockets.of_clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = of_clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                of_clients.remove(&self.client);
            }
        }
        self.sockets.open.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::stream::sockets::{Full, Sockets};

    #[test]
    fn places_are_counted_for_each_client_and_in_all() {
        let sockets = Arc::new(Sockets::new(3));
        let first = sockets.take("a", 2).unwrap();
        let _second = sockets.take("a", 2).unwrap();
        assert_eq!(sockets.take("a", 2).unwrap_err(), Full::OfClient);
        let _third = sockets.take("b", 2).unwrap();
        assert_eq!(sockets.take("c", 2).unwrap_err(), Full::OfServer);
        drop(first);
        assert_eq!(sockets.open(), 2);
        assert!(sockets.take("a", 2).is_ok(), "and given back at once");
        assert_eq!(sockets.open(), 2);
    }
}
