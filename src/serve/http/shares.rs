//! Divides what all clients together may have, so that none of them has all of it. What was taken
//! is given back when it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// What there is, and who has how much of it.
#[derive(Debug)]
pub struct Shares {
    most: usize,
    most_of_client: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    sum: usize,
    of_clients: HashMap<String, usize>,
}

/// What one has taken; given back when dropped.
#[derive(Debug)]
pub struct Share {
    shares: Arc<Shares>,
    client: String,
    amount: usize,
}

/// Which bound is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    OfClient,
    OfServer,
}

impl Shares {
    /// So much for all, and so much for each.
    pub fn new(most: usize, most_of_client: usize) -> Self {
        Self {
            most,
            most_of_client,
            taken: Mutex::default(),
        }
    }

    /// How much is taken.
    pub fn taken(&self) -> usize {
        self.taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .sum
    }

    /// Takes an amount. A client that has nothing yet may take more than a client's share: one
    /// answer always fits.
    ///
    /// # Errors
    /// Which bound is reached.
    pub fn take(self: &Arc<Self>, client: &str, amount: usize) -> Result<Share, Exhausted> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.sum.saturating_add(amount) > self.most {
            return Err(Exhausted::OfServer);
        }
        let has = taken.of_clients.get(client).copied().unwrap_or_default();
        if has > 0 && has.saturating_add(amount) > self.most_of_client {
            return Err(Exhausted::OfClient);
        }
        Ok(self.add(&mut taken, client, amount))
    }

    /// Takes more for what a client was let begin: only the bound of all together counts. None
    /// where that is reached.
    pub fn take_more(self: &Arc<Self>, client: &str, amount: usize) -> Option<Share> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = taken.sum.saturating_add(amount) <= self.most;
        fits.then(|| self.add(&mut taken, client, amount))
    }

    fn add(self: &Arc<Self>, taken: &mut Taken, client: &str, amount: usize) -> Share {
        taken.sum += amount;
        match taken.of_clients.get_mut(client) {
            Some(has) => *has += amount,
            None => drop(taken.of_clients.insert(client.to_owned(), amount)),
        }
        Share {
            shares: self.clone(),
            client: client.to_owned(),
            amount,
        }
    }
}

/// Bytes that keep something until the system has taken them.
struct Held<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes, which keep something until the last of them is dropped.
pub fn held<T: Send + 'static>(bytes: Bytes, kept: T) -> Bytes {
    Bytes::from_owner(Held { bytes, _kept: kept })
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self
            .shares
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        taken.sum -= self.amount;
        if let Some(has) = taken.of_clients.get_mut(&self.client) {
            *has -= self.amount;
            if *has == 0 {
                taken.of_clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::http::shares::{Exhausted, Shares};

    #[test]
    fn one_client_never_has_all_and_what_it_had_comes_back() {
        let shares = Arc::new(Shares::new(10, 4));
        let first = shares.take("a", 3).unwrap();
        assert_eq!(shares.take("a", 2).unwrap_err(), Exhausted::OfClient);
        let _second = shares.take("a", 1).unwrap();
        let _other = shares
            .take("b", 6)
            .expect("one answer may be larger than a share");
        assert_eq!(shares.taken(), 10);
        assert_eq!(shares.take("c", 1).unwrap_err(), Exhausted::OfServer);
        drop(first);
        assert_eq!(shares.taken(), 7);
        assert!(shares.take("a", 3).is_ok());
        assert_eq!(shares.taken(), 7, "and is given back at once");
        let more = shares
            .take_more("b", 3)
            .expect("what was let begin may go beyond a share");
        assert_eq!(
            (shares.taken(), shares.take_more("b", 1).is_none()),
            (10, true),
            "and not beyond what there is"
        );
        drop(more);
        assert_eq!(shares.taken(), 7);
    }
}
