//! Divides a quota among clients, so that no client can use all of it. An amount is released when
//! its guard is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Quota with the amounts that clients use.
#[derive(Debug)]
pub struct Quota {
    most: usize,
    limit_per_client: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    sum: usize,
    of_clients: HashMap<String, usize>,
}

/// Guard for an amount that a client uses. The amount is released when the guard is dropped.
#[derive(Debug)]
pub struct QuotaGuard {
    quota: Arc<Quota>,
    client: String,
    amount: usize,
}

/// Limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    ClientLimit,
    ServerLimit,
}

impl Quota {
    /// Creates a quota with a limit in total and a limit per client.
    pub fn new(most: usize, limit_per_client: usize) -> Self {
        Self {
            most,
            limit_per_client,
            taken: Mutex::default(),
        }
    }

    /// Returns the amount in use.
    pub fn taken(&self) -> usize {
        self.taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .sum
    }

    /// Takes an amount. A client that uses nothing yet may exceed its limit, so that one answer
    /// always fits.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn take(self: &Arc<Self>, client: &str, amount: usize) -> Result<QuotaGuard, Exhausted> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.sum.saturating_add(amount) > self.most {
            return Err(Exhausted::ServerLimit);
        }
        let has = taken.of_clients.get(client).copied().unwrap_or_default();
        if has > 0 && has.saturating_add(amount) > self.limit_per_client {
            return Err(Exhausted::ClientLimit);
        }
        Ok(self.add(&mut taken, client, amount))
    }

    /// Takes a further amount for an answer that has already begun. Only the total limit applies.
    /// Returns `None` if that limit is reached.
    pub fn take_more(self: &Arc<Self>, client: &str, amount: usize) -> Option<QuotaGuard> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = taken.sum.saturating_add(amount) <= self.most;
        fits.then(|| self.add(&mut taken, client, amount))
    }

    fn add(self: &Arc<Self>, taken: &mut Taken, client: &str, amount: usize) -> QuotaGuard {
        taken.sum += amount;
        match taken.of_clients.get_mut(client) {
            Some(has) => *has += amount,
            None => drop(taken.of_clients.insert(client.to_owned(), amount)),
        }
        QuotaGuard {
            quota: self.clone(),
            client: client.to_owned(),
            amount,
        }
    }
}

/// Bytes that keep a value alive until the system has taken them.
struct OwnedBytes<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for OwnedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns bytes that keep a value alive until the last of them is dropped.
pub fn held<T: Send + 'static>(bytes: Bytes, kept: T) -> Bytes {
    Bytes::from_owner(OwnedBytes { bytes, _kept: kept })
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        let mut taken = self
            .quota
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

    use crate::http::quota::{Exhausted, Quota};

    #[test]
    fn client_limit_applies_and_dropping_releases_the_amount() {
        let quota = Arc::new(Quota::new(10, 4));
        let first = quota.take("a", 3).unwrap();
        assert_eq!(quota.take("a", 2).unwrap_err(), Exhausted::ClientLimit);
        let _second = quota.take("a", 1).unwrap();
        let _other = quota
            .take("b", 6)
            .expect("one answer may exceed the client's limit");
        assert_eq!(quota.taken(), 10);
        assert_eq!(quota.take("c", 1).unwrap_err(), Exhausted::ServerLimit);
        drop(first);
        assert_eq!(quota.taken(), 7);
        assert!(quota.take("a", 3).is_ok());
        assert_eq!(quota.taken(), 7, "the amount is released at once");
        let more = quota
            .take_more("b", 3)
            .expect("an answer that has begun may exceed the client's limit");
        assert_eq!(
            (quota.taken(), quota.take_more("b", 1).is_none()),
            (10, true),
            "but not the total limit"
        );
        drop(more);
        assert_eq!(quota.taken(), 7);
    }
}
