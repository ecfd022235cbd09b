//! The current span of a piece of code: the parent of spans that begin below it, and its attributes.
//! Must not know: the work of a span.

use std::{cell::RefCell, future::poll_fn, pin::pin, sync::Arc};

use opentelemetry::Value;
use parking_lot::Mutex;

use crate::{
    TraceParent,
    conventions::{CONVERSATION_ID, SESSION_ID},
};

thread_local! {
    static CURRENT: RefCell<Option<Arc<SpanScope>>> = const { RefCell::new(None) };
}

/// Most attributes that are noted for one span; beyond it they are left out.
const NOTES_MAX: usize = 16;

/// An open span, while the work under it is polled.
#[derive(Debug)]
pub struct SpanScope {
    own: TraceParent,
    operation: &'static str,
    notes: Mutex<Vec<(&'static str, Value)>>,
}

/// Makes the span the current one of this thread until this is dropped.
#[derive(Debug)]
pub struct EnteredScope(Option<Arc<SpanScope>>);

impl SpanScope {
    /// The scope of a span with these ids, of an operation.
    pub fn new(own: TraceParent, operation: &'static str) -> Arc<Self> {
        Arc::new(Self { own, operation, notes: Mutex::default() })
    }

    /// The ids of its span.
    pub const fn own(&self) -> &TraceParent {
        &self.own
    }

    /// The operation.
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// Makes it the current span.
    pub fn enter(self: &Arc<Self>) -> EnteredScope {
        EnteredScope(CURRENT.replace(Some(self.clone())))
    }

    /// Takes the noted attributes.
    pub fn take(&self) -> Vec<(&'static str, Value)> {
        std::mem::take(&mut self.notes.lock())
    }
}

impl Drop for EnteredScope {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The current span; `None` if there is none.
pub fn current() -> Option<TraceParent> {
    CURRENT.with_borrow(|scope| scope.as_ref().map(|scope| scope.own.clone()))
}

/// The scope of the current span; `None` if there is none.
pub fn current_scope() -> Option<Arc<SpanScope>> {
    CURRENT.with_borrow(Option::clone)
}

/// Makes a future that runs elsewhere part of the current span.
pub fn in_current_scope<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let scope = current_scope();
    async move {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _entered = scope.as_ref().map(SpanScope::enter);
            future.as_mut().poll(context)
        })
        .await
    }
}

/// Notes an attribute of the current span; the last value of a name counts. The value is computed only
/// if there is a span.
pub fn note<V: Into<Value>>(name: &'static str, value: impl FnOnce() -> V) {
    CURRENT.with_borrow(|scope| {
        let Some(scope) = scope else { return };
        let value = value().into();
        let mut notes = scope.notes.lock();
        notes.retain(|(known, _)| *known != name);
        if notes.len() < NOTES_MAX {
            notes.push((name, value));
        }
    });
}

/// Notes the conversation that the current span belongs to: a session, a thread, a channel.
pub fn note_conversation(id: impl std::fmt::Display) {
    note(CONVERSATION_ID, || id.to_string());
    note(SESSION_ID, || id.to_string());
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn span(text: &str) -> Arc<SpanScope> {
        SpanScope::new(TraceParent::parse(text, "").unwrap(), "thing.show")
    }

    #[test]
    fn what_is_noted_belongs_to_the_innermost_span_and_the_outer_one_comes_back() {
        note("lost", unreachable_value);
        let outer = span("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let inner = span("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01");
        {
            let _outer = outer.enter();
            note("a", || "1");
            {
                let _inner = inner.enter();
                note("a", || "2");
                assert_eq!(current(), Some(inner.own.clone()));
            }
            note("a", || "3");
            assert_eq!(current(), Some(outer.own.clone()));
        }
        assert_eq!(current(), None);
        assert_eq!((outer.take(), inner.take()), (vec![("a", "3".into())], vec![("a", "2".into())]));
    }

    #[test]
    fn work_that_runs_elsewhere_is_under_the_span_whenever_it_is_polled() {
        let outer = span("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let entered = outer.enter();
        let work = in_current_scope(async {
            let first = current();
            let mut is_second = false;
            poll_fn(
                |_| if std::mem::replace(&mut is_second, true) { Poll::Ready(()) } else { Poll::Pending },
            )
            .await;
            (first, current())
        });
        drop(entered);
        let mut work = pin!(work);
        let mut context = Context::from_waker(Waker::noop());
        assert!(work.as_mut().poll(&mut context).is_pending() && current().is_none());
        let own = Some(outer.own.clone());
        assert_eq!(work.as_mut().poll(&mut context), Poll::Ready((own.clone(), own)));
    }

    fn unreachable_value() -> Value {
        panic!("nobody records it")
    }

    #[test]
    fn past_the_limit_notes_are_left_out() {
        const NAMES: [&str; 18] =
            ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"];
        let scope = span("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let entered = scope.enter();
        NAMES.into_iter().for_each(|name| note(name, || "1"));
        drop(entered);
        assert_eq!(scope.take().len(), NOTES_MAX);
    }
}
