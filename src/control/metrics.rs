//! Named counters and gauges.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

/// Most names in a registry, of both kinds together.
pub const MAX_METRICS: usize = 4096;

/// A number that only grows. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Counts `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// Sets the value.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds `n`, up to the largest number.
    pub fn add(&self, n: u64) {
        self.change(|value| value.saturating_add(n));
    }

    /// Takes `n` away, down to 0.
    pub fn sub(&self, n: u64) {
        self.change(|value| value.saturating_sub(n));
    }

    /// The value now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn change(&self, f: impl Fn(u64) -> u64) {
        // Never fails: the closure always gives a value.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |v| Some(f(v)));
    }
}

/// A registry of metrics. Clones share it.
///
/// Names follow Prometheus: `hesper_epoch_bytes_total`, units last, labels in braces.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<Named>>);

#[derive(Debug, Default)]
struct Named {
    counters: BTreeMap<String, Counter>,
    gauges: BTreeMap<String, Gauge>,
}

impl Metrics {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counter of this name, made when it isn't there yet. In a full registry the counter works
    /// but isn't shown.
    pub fn counter(&self, name: &str) -> Counter {
        let mut named = self.named();
        let room = named.has_room();
        find(&mut named.counters, name, room)
    }

    /// The gauge of this name, made when it isn't there yet. In a full registry the gauge works but
    /// isn't shown.
    pub fn gauge(&self, name: &str) -> Gauge {
        let mut named = self.named();
        let room = named.has_room();
        find(&mut named.gauges, name, room)
    }

    /// Forgets a name of either kind: of a context that is gone, say.
    pub fn remove(&self, name: &str) {
        let mut named = self.named();
        named.counters.remove(name);
        named.gauges.remove(name);
    }

    /// `{"counters":{name: value},"gauges":{name: value}}`, sorted by name. Values are each read once,
    /// not all at one instant.
    pub fn snapshot(&self) -> Value {
        let named = self.named();
        let counters = named
            .counters
            .iter()
            .map(|(n, c)| (n.clone(), c.get().into()));
        let gauges = named
            .gauges
            .iter()
            .map(|(n, g)| (n.clone(), g.get().into()));
        json!({
            "counters": counters.collect::<Map<_, _>>(),
            "gauges": gauges.collect::<Map<_, _>>(),
        })
    }

    /// The lock guards maps that are whole between any two statements: poison means nothing.
    fn named(&self) -> MutexGuard<'_, Named> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Named {
    fn has_room(&self) -> bool {
        self.counters.len() + self.gauges.len() < MAX_METRICS
    }
}

fn find<T: Clone + Default>(map: &mut BTreeMap<String, T>, name: &str, room: bool) -> T {
    if let Some(known) = map.get(name) {
        return known.clone();
    }
    let metric = T::default();
    if room {
        map.insert(name.to_owned(), metric.clone());
    } else {
        tracing::warn!("Metric {name} isn't shown: {MAX_METRICS} are");
    }
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_name_counts_together() {
        let metrics = Metrics::new();
        metrics.counter("a_total").add(2);
        metrics.clone().counter("a_total").add(3);
        let gauge = metrics.gauge("b_bytes");
        gauge.set(5);
        gauge.sub(7);
        gauge.add(4);
        assert_eq!(
            metrics.snapshot(),
            json!({"counters": {"a_total": 5}, "gauges": {"b_bytes": 4}})
        );
    }

    #[test]
    fn removed_name_starts_again_at_zero() {
        let metrics = Metrics::new();
        metrics.counter("a_total").add(2);
        metrics.remove("a_total");
        assert_eq!(metrics.counter("a_total").get(), 0);
    }

    #[test]
    fn gauge_at_its_ends_stays_there() {
        let gauge = Gauge::default();
        gauge.sub(1);
        assert_eq!(gauge.get(), 0);
        gauge.set(u64::MAX - 1);
        gauge.add(5);
        assert_eq!(gauge.get(), u64::MAX);
    }

    #[test]
    fn full_registry_still_hands_out_working_metrics() {
        let metrics = Metrics::new();
        for i in 0..MAX_METRICS {
            metrics.counter(&format!("c{i}"));
        }
        let gauge = metrics.gauge("one_too_many");
        gauge.set(1);
        assert_eq!(gauge.get(), 1);
        assert_eq!(metrics.snapshot()["gauges"], json!({}));
        metrics.counter("c7").add(1);
        assert_eq!(metrics.counter("c7").get(), 1);
    }
}
