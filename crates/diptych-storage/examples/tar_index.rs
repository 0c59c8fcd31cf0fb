//! Indexes every tar below a folder into one JSON file, `{path: {name: [offset, size]}}`, and
//! prints how many members there are: `tar_index FOLDER OUT.json`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use diptych_storage::Limits;
use diptych_storage::read::LocalFile;
use diptych_storage::tar::{MemberKind, TarIndex};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "what a command is for")]
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(out)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: tar_index FOLDER OUT.json");
        return ExitCode::from(2);
    };
    match run(&folder, &out) {
        Ok(members) => {
            println!("{members}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, out: &Path) -> io::Result<usize> {
    let mut tars = Vec::new();
    find(folder, &mut tars)?;
    tars.sort();
    let mut json = String::from("{");
    let mut members = 0;
    for (number, path) in tars.iter().enumerate() {
        let file = LocalFile::new(File::open(path)?)?;
        let index = TarIndex::build(&file, &Limits::DEFAULT, &mut |_| Ok(()))?;
        json.push_str(if number == 0 { "" } else { ", " });
        push_string(&mut json, &path.to_string_lossy());
        json.push_str(": {");
        let files = index.iter().filter(|entry| entry.kind == MemberKind::File);
        for (number, entry) in files.enumerate() {
            json.push_str(if number == 0 { "" } else { ", " });
            push_string(&mut json, &String::from_utf8_lossy(entry.name));
            // Writing to a string cannot fail.
            let _ = write!(json, ": [{}, {}]", entry.offset, entry.length);
            members += 1;
        }
        json.push('}');
    }
    json.push('}');
    fs::write(out, json)?;
    Ok(members)
}

fn find(folder: &Path, tars: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find(&path, tars)?;
        } else if path.extension().is_some_and(|extension| extension == "tar") {
            tars.push(path);
        }
    }
    Ok(())
}

fn push_string(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            _ if c < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
            _ => json.push(c),
        }
    }
    json.push('"');
}
