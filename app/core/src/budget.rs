//! Who may compute now. Two cores are enough if the less urgent stage waits for the more urgent one.
//!
//! In order of urgency: hearing; a voice that would otherwise fall silent; the model; the voice that is ahead. The
//! stages ask between units of work that take a few milliseconds (a token, a clause), so that nobody waits long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a waiting stage looks whether it was cancelled.
const POLL: Duration = Duration::from_millis(10);

/// Longest wait of the model for the voice: a clause takes less, and a stuck voice must not stop the model.
const PATIENCE: u32 = 50; // polls

#[derive(Debug, Default)]
struct State {
    /// The user is speaking: everything but hearing rests.
    suspended: bool,
    /// The voice is working on audio that is needed at once.
    voice_urgent: bool,
}

/// Shared by all stages of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    state: Mutex<State>,
    changed: Condvar,
}

impl Budget {
    /// Rests the model and the voice, or lets them go on.
    pub(crate) fn suspend(&self, suspended: bool) {
        self.lock().suspended = suspended;
        self.changed.notify_all();
    }

    /// The voice needs the cores for audio that is due, or no longer does.
    pub(crate) fn voice_is_urgent(&self, urgent: bool) {
        self.lock().voice_urgent = urgent;
        self.changed.notify_all();
    }

    /// Waits until the model may compute its next token, or was cancelled.
    pub(crate) fn wait_to_think(&self, cancel: &AtomicBool) {
        let mut polls = 0;
        self.wait_while(cancel, |state| {
            polls += u32::from(state.voice_urgent);
            state.suspended || (state.voice_urgent && polls <= PATIENCE)
        });
    }

    /// Waits until the voice may speak its next clause, or was cancelled.
    pub(crate) fn wait_to_speak(&self, cancel: &AtomicBool) {
        self.wait_while(cancel, |state| state.suspended);
    }

    fn wait_while(&self, cancel: &AtomicBool, mut busy: impl FnMut(&State) -> bool) {
        let mut state = self.lock();
        while !cancel.load(Ordering::Acquire) && busy(&state) {
            state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_suspended_stage_waits_until_it_may_or_is_cancelled() {
        for cancelled in [false, true] {
            let budget = Arc::new(Budget::default());
            let cancel = Arc::new(AtomicBool::new(false));
            budget.suspend(true);
            let waiter = {
                let (budget, cancel) = (budget.clone(), cancel.clone());
                std::thread::spawn(move || budget.wait_to_think(&cancel))
            };
            std::thread::sleep(POLL * 3);
            assert!(!waiter.is_finished());
            if cancelled {
                cancel.store(true, Ordering::Release);
            } else {
                budget.suspend(false);
            }
            waiter.join().unwrap();
        }
    }

    #[test]
    fn a_stuck_voice_does_not_stop_the_model_for_ever() {
        let budget = Budget::default();
        budget.voice_is_urgent(true);
        budget.wait_to_think(&AtomicBool::new(false));
    }
}
