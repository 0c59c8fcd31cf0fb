//! What was made last and may be needed again, within a bound: open files, indexes of archives.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps values by key until their weights exceed a bound; then the one used longest ago goes, of
/// those that nobody holds.
///
/// A value is made once even when many threads ask for it at one time: the others wait for that
/// value only. What somebody holds is kept whatever it weighs: to make it anew beside itself would
/// save nothing, and two that are asked for in turn would be made for each asking.
pub struct Recent<K, V> {
    bound: usize,
    kept: Mutex<Kept<K, V>>,
}

struct Kept<K, V> {
    slots: HashMap<K, Slot<V>>,
    clock: u64,
    weight: usize,
}

struct Slot<V> {
    value: Arc<Mutex<Option<Arc<V>>>>,
    weight: usize,
    used: u64,
}

impl<K: Eq + Hash + Clone, V> Recent<K, V> {
    /// Keeps values of `bound` in all (in the unit of the weights); at least the last one.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        let kept = Kept { slots: HashMap::new(), clock: 0, weight: 0 };
        Self { bound, kept: Mutex::new(kept) }
    }

    /// The value for `key`, made where it is not kept. `make` gives it with its weight.
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
    pub fn get<E>(
        &self,
        key: &K,
        make: impl FnOnce() -> Result<(V, usize), E>,
    ) -> Result<Arc<V>, E> {
        let slot = {
            let mut kept = lock(&self.kept);
            kept.clock += 1;
            let used = kept.clock;
            let slot = kept.slots.entry(key.clone()).or_insert_with(|| Slot {
                value: Arc::default(),
                weight: 0,
                used,
            });
            slot.used = used;
            Arc::clone(&slot.value)
        };
        let mut value = lock(&slot);
        if let Some(value) = value.as_ref() {
            return Ok(Arc::clone(value));
        }
        let (made, weight) = make()?;
        let made = Arc::new(made);
        *value = Some(Arc::clone(&made));
        drop(value);
        let mut kept = lock(&self.kept);
        if let Some(slot) = kept.slots.get_mut(key).filter(|kept| Arc::ptr_eq(&kept.value, &slot)) {
            slot.weight = weight;
            kept.weight += weight;
        }
        kept.shrink(self.bound, key);
        Ok(made)
    }
}

impl<V> Slot<V> {
    /// Whether somebody holds the value, or is about to.
    fn is_held(&self) -> bool {
        let Ok(value) = self.value.try_lock() else { return true };
        value.as_ref().is_some_and(|value| Arc::strong_count(value) > 1)
    }
}

impl<K: Eq + Hash + Clone, V> Kept<K, V> {
    fn shrink(&mut self, bound: usize, newest: &K) {
        while self.weight > bound {
            let others = self
                .slots
                .iter()
                .filter(|(key, slot)| *key != newest && slot.weight > 0 && !slot.is_held());
            let Some(oldest) = others.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone())
            else {
                break;
            };
            if let Some(slot) = self.slots.remove(&oldest) {
                self.weight -= slot.weight;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while making a value left none: the next one makes it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_one_used_longest_ago_goes() {
        let recent = Recent::new(3);
        let made = AtomicUsize::new(0);
        let get = |key: u32| {
            let value = recent.get(&key, || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>((key, 1))
            });
            assert_eq!(*value.unwrap(), key);
            made.load(Ordering::Relaxed)
        };
        assert_eq!([get(1), get(2), get(3), get(1)], [1, 2, 3, 3]);
        assert_eq!([get(4), get(1), get(3), get(2)], [4, 4, 4, 5]);
    }

    #[test]
    fn a_value_heavier_than_the_bound_is_kept_until_the_next() {
        let recent = Recent::new(3);
        assert!(recent.get(&1, || Err::<(u32, usize), _>("no")).is_err());
        assert_eq!(recent.get(&1, || Ok::<_, ()>((7, 10))).as_deref(), Ok(&7));
        assert_eq!(recent.get(&1, || Ok::<_, ()>((8, 10))).as_deref(), Ok(&7));
        assert_eq!(recent.get(&2, || Ok::<_, ()>((9, 1))).as_deref(), Ok(&9));
        assert_eq!(recent.get(&1, || Ok::<_, ()>((8, 10))).as_deref(), Ok(&8));
    }

    #[test]
    fn what_is_held_is_not_made_anew() {
        let recent = Recent::new(3);
        let made = AtomicUsize::new(0);
        let get = |key: u32| {
            recent.get(&key, || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>((key, 10))
            })
        };
        let held = [get(1), get(2)];
        for key in [1, 2, 1, 2] {
            assert_eq!(*get(key).unwrap(), key);
        }
        assert_eq!(made.load(Ordering::Relaxed), 2);
        drop(held);
        get(3).unwrap();
        get(1).unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 4, "what nobody holds went for the third");
    }

    #[test]
    fn one_thread_makes_and_the_others_wait() {
        let recent = Recent::new(1);
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    recent.get(&0, || {
                        made.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok::<_, ()>(((), 1))
                    })
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
