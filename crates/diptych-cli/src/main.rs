//! The `diptych` command.
//!
//! The only crate that prints, takes arguments or knows exit codes. Standard output is for data,
//! standard error for talk. A command returns its outcome as a value; the exit code is decided
//! here, once.

mod args;
mod commands;
mod exit;
mod hint;
mod printer;
mod signals;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

fn main() -> ExitCode {
    // What is caught is told of as an error of the file that it is about.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !diptych::storage::parquet::is_guarded() {
            print(panic);
        }
    }));
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version come this way too, and are no errors.
            let code = if error.use_stderr() { exit::USAGE } else { exit::DONE };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let signals = signals::Signals::default();
    let printer = printer::Printer::new(args.talk.quiet, args.talk.verbose, signals.clone());
    let printer = Arc::new(printer);
    let talk = Arc::clone(&printer);
    let told = move || talk.say("stopping; once more ends at once");
    if let Err(error) = signals.listen(told) {
        printer.say(&format!("note: Ctrl-C ends the process as it stands: {error}"));
    }
    let code = match commands::run(args, &printer) {
        Ok(outcome) => outcome.code(),
        Err(error) => match signals.code().filter(|_| exit::is_stop(&error)) {
            Some(code) => {
                printer.stopped();
                code
            }
            None => {
                printer.error(&error);
                exit::of_error(&error)
            }
        },
    };
    ExitCode::from(code)
}
