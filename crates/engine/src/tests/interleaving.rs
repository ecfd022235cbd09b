//! Every order in which two processes can begin a stream, read it, and write: one of them begins it, and all readers
//! see the same.

use plenary_kernel::Version;
use plenary_log::rigged::{FaultControl, Store};
use tokio::task::JoinHandle;

use super::{
    beginning::{Began, Open, begin},
    hall::{Halls, ID, SeatRefusal, idle, refused, rigged, start, take, written},
};
use crate::{ExecuteError, Executed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A process begins the stream with this number of seats.
    Begin(usize, usize),
    /// A process opens it with an ordinary command.
    Execute(usize, usize),
    /// A visitor takes a seat at a process.
    Take(usize),
    /// A process reads it.
    Look(usize),
    /// The writer of a process continues.
    Release(usize),
}

/// Every order of the steps.
fn orders(steps: &[Step]) -> Vec<Vec<Step>> {
    if steps.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for nth in 0..steps.len() {
        let mut rest = steps.to_vec();
        let first = rest.remove(nth);
        all.extend(orders(&rest).into_iter().map(|rest| [vec![first], rest].concat()));
    }
    all
}

struct Interleaving {
    processes: [(Halls, FaultControl); 2],
    opened: Vec<JoinHandle<Began>>,
    taken: Vec<JoinHandle<Result<Executed<Version>, ExecuteError<SeatRefusal>>>>,
    /// The seats that a reader saw.
    seen: Vec<usize>,
    /// The readers of the state on disk, which may have to wait.
    fresh_reads: Vec<JoinHandle<usize>>,
}

impl Interleaving {
    fn new() -> Self {
        let store = Store::new();
        let processes = [rigged(&store, true), rigged(&store, true)];
        processes.iter().for_each(|(_, rigging)| rigging.hold());
        Self { processes, opened: Vec::new(), taken: Vec::new(), seen: Vec::new(), fresh_reads: Vec::new() }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Begin(at, seats) => self.opened.push(begin(&self.processes[at].0, seats, None).await),
            Step::Execute(at, seats) => {
                self.opened.push(start(&self.processes[at].0, Open(seats), None).await)
            }
            Step::Take(at) => {
                let halls = &self.processes[at].0;
                self.taken.push(start(halls, take(halls.log(), "ann"), None).await);
            }
            Step::Look(at) => {
                let halls = self.processes[at].0.clone();
                for looked in [halls.state(ID).await, halls.observed(ID).await] {
                    self.seen.push(looked.unwrap().0.seats);
                }
                self.fresh_reads.push(tokio::spawn(async move { halls.fresh(ID).await.unwrap().0.seats }));
                idle().await;
            }
            Step::Release(at) => {
                self.processes[at].1.release();
                idle().await;
            }
        }
    }

    /// Every caller gets an answer, and the answers match the written events.
    async fn end(mut self, order: &[Step]) {
        let mut replies = Vec::new();
        for task in self.fresh_reads {
            self.seen.push(task.await.unwrap());
        }
        for task in self.opened {
            replies.push(task.await.unwrap().unwrap().reply);
        }
        let new: Vec<_> = replies.iter().filter(|(is_new, _)| *is_new).collect();
        let [(_, seats)] = new[..] else { panic!("{order:?}: {replies:?}") };
        assert!(replies.iter().all(|(_, replied)| replied == seats), "{order:?}: {replies:?}");
        assert!(self.seen.iter().all(|seen| *seen == 0 || seen == seats), "{order:?}: {:?}", self.seen);
        let mut expected = vec![format!("Opened {seats}")];
        for task in self.taken {
            match task.await.unwrap() {
                Ok(done) => {
                    expected.push("Taken ann".into());
                    assert_eq!(done.reply.0, expected.len() as u64, "{order:?}");
                }
                answer => assert_eq!(refused(answer), SeatRefusal::Full, "{order:?}"),
            }
        }
        for (halls, _) in &self.processes {
            assert_eq!(written(halls.log()).await, expected, "{order:?}");
            let (state, version) = halls.fresh(ID).await.unwrap();
            assert_eq!((state.seats, version.0), (*seats, expected.len() as u64), "{order:?}");
        }
    }
}

async fn play(steps: &[Step]) {
    for order in orders(steps) {
        let mut played = Interleaving::new();
        for step in &order {
            played.step(*step).await;
        }
        played.end(&order).await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_every_order_one_of_those_that_begin_a_stream_does() {
    let steps = [Step::Begin(0, 1), Step::Begin(0, 2), Step::Begin(1, 3)];
    play(&[&steps[..], &[Step::Execute(0, 4), Step::Release(0), Step::Release(1)]].concat()).await;
}

#[tokio::test(start_paused = true)]
async fn in_every_order_no_reader_sees_a_failed_creation() {
    // Nothing else happens at the reading process: a decision on a known state runs ahead of the disk.
    let steps = [Step::Begin(0, 1), Step::Begin(1, 2), Step::Look(0), Step::Take(1)];
    play(&[&steps[..], &[Step::Release(0), Step::Release(1)]].concat()).await;
}
