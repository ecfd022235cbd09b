//! The writer's cache of streams. Bounded: two generations, of which the older is dropped as a whole.

use hashbrown::HashMap;
use plenary_log::StreamName;

/// Most streams in one generation.
const GENERATION_MAX: usize = 32_768;

/// A stream as the writer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CachedStream {
    /// Its number in the file.
    pub(crate) id: i64,
    /// Its current version.
    pub(crate) version: i64,
}

/// The recently used streams.
#[derive(Debug)]
pub(crate) struct Cache {
    young: HashMap<StreamName, CachedStream>,
    /// May have outdated entries of streams that are in `young`.
    old: HashMap<StreamName, CachedStream>,
    generation_max: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation_max: GENERATION_MAX }
    }
}

impl Cache {
    /// A stream, if cached; a look-up keeps it in the cache.
    pub(crate) fn get(&mut self, stream: &StreamName) -> Option<CachedStream> {
        if let Some(known) = self.young.get(stream) {
            return Some(*known);
        }
        let (name, known) = self.old.remove_entry(stream)?;
        self.put(name, known);
        Some(known)
    }

    /// Stores the state of a stream.
    pub(crate) fn put(&mut self, stream: StreamName, known: CachedStream) {
        if let Some(cached) = self.young.get_mut(&stream) {
            *cached = known;
            return;
        }
        if self.young.len() >= self.generation_max {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(stream, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_is_forgotten() {
        let mut cache = Cache { generation_max: 4, ..Cache::default() };
        let name = |n: i64| StreamName::new("test.stream", &n.to_string());
        for n in 0..100 {
            cache.put(name(n), CachedStream { id: n, version: 1 });
            if n % 3 == 0 {
                cache.put(name(0), CachedStream { id: 0, version: n });
            }
            let expected = CachedStream { id: 0, version: n - n % 3 };
            assert_eq!(cache.get(&name(0)), Some(expected), "asked for all the time");
            assert!(cache.young.len() <= 4 && cache.old.len() <= 4);
        }
        assert_eq!(cache.get(&name(50)), None);
        assert!(cache.get(&name(99)).is_some());
    }
}
