//! `completions` and `man`: what shells and readers of manuals need, made from the arguments as
//! they are declared.

use clap::CommandFactory;

use crate::args::{Args, Completions, Man, Shell};
use crate::exit::{Outcome, Usage};
use crate::printer::data_bytes;

pub(crate) fn completions(args: &Completions) -> anyhow::Result<Outcome> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Elvish => clap_complete::Shell::Elvish,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
        Shell::Zsh => clap_complete::Shell::Zsh,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "diptych", &mut text);
    data_bytes(&text)?;
    Ok(Outcome::Done)
}

pub(crate) fn man(args: &Man) -> anyhow::Result<Outcome> {
    // Building gives each verb the name that its page has: `diptych-convert`.
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let page = match &args.verb {
        None => command,
        Some(verb) => {
            let verbs: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            let none = format!("there is no verb `{verb}`: there are {}", verbs.join(", "));
            command.find_subcommand(verb).cloned().ok_or(Usage(none))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    data_bytes(&text)?;
    Ok(Outcome::Done)
}
