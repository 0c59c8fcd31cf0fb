//! Being told to stop: by Ctrl-C, or by whoever ends processes.
//!
//! The first signal lets the work end where it is: what is half written is removed, what is done
//! stays, and the command says how to go on. A second one, or ten seconds, ends the process as it
//! stands, which is as safe and only leaves more behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal that came first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signals(Arc<AtomicI32>);

impl Signals {
    /// Whether one came.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The exit code for the one that came, as shells tell it: 130 for Ctrl-C.
    pub(crate) fn code(&self) -> Option<u8> {
        let signal = self.0.load(Ordering::Relaxed);
        if signal == 0 { None } else { u8::try_from(128 + signal).ok() }
    }
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals as Arriving;
    use signal_hook::low_level;

    use super::Signals;

    /// How long the work has to come to an end by itself.
    const PATIENCE: Duration = Duration::from_secs(10);

    impl Signals {
        /// Listens from now on, and calls `told` when the first comes.
        ///
        /// # Errors
        /// Those of the system.
        pub(crate) fn listen(&self, told: impl Fn() + Send + 'static) -> io::Result<()> {
            // A file that may not grow further is an error of whoever writes it, with its name,
            // and not the end of the process.
            signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
            let mut arriving = Arriving::new([SIGINT, SIGTERM])?;
            let first = self.clone();
            thread::Builder::new().name("signals".to_owned()).spawn(move || {
                for signal in arriving.forever() {
                    if first.0.swap(signal, Ordering::Relaxed) != 0 {
                        low_level::exit(128 + signal);
                    }
                    told();
                    let late = move || {
                        thread::sleep(PATIENCE);
                        low_level::exit(128 + signal);
                    };
                    // Where no thread can be had there is no deadline, and still the second signal.
                    let _ = thread::Builder::new().name("deadline".to_owned()).spawn(late);
                }
            })?;
            Ok(())
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// The system ends the process as it stands.
    pub(crate) fn listen(&self, _: impl Fn() + Send + 'static) -> std::io::Result<()> {
        Ok(())
    }
}
