//! Which crate may depend on which, and what every crate's manifest says.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use super::{counts, none, read, root};

/// Crates that see formats only through the contract, or that list them all: those that depend
/// on the contract and are no format.
const NO_FORMATS: &[&str] = &["diptych", "diptych-convert"];

fn metadata() -> Metadata {
    let options = ["--offline", "--locked"].map(str::to_owned);
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps().other_options(options);
    let metadata = command.exec().unwrap();
    assert!(metadata.packages.len() >= 9, "only {} crates were found", metadata.packages.len());
    metadata
}

/// Names of the crates of this workspace that `package` depends on; also for tests where so
/// asked.
fn ours<'a>(metadata: &Metadata, package: &'a Package, also_tests: bool) -> Vec<&'a str> {
    let is_ours = |name: &str| metadata.packages.iter().any(|of| of.name == name);
    let kind = |kind| also_tests || kind != DependencyKind::Development;
    let all = package.dependencies.iter().filter(|of| kind(of.kind));
    all.map(|of| of.name.as_str()).filter(|name| is_ours(name)).collect()
}

fn package<'a>(metadata: &'a Metadata, name: &str) -> &'a Package {
    metadata.packages.iter().find(|of| of.name == name).unwrap_or_else(|| panic!("no crate {name}"))
}

/// The crates of formats: whatever depends on the contract and is not the engine or the facade.
pub(super) fn format_crates() -> BTreeSet<String> {
    let metadata = metadata();
    let is_format = |of: &&Package| {
        ours(&metadata, of, false).contains(&"diptych-format")
            && !NO_FORMATS.contains(&of.name.as_str())
    };
    let crates: BTreeSet<_> =
        metadata.packages.iter().filter(is_format).map(|of| of.name.to_string()).collect();
    assert!(crates.len() >= 2, "only {crates:?} are crates of formats");
    crates
}

#[test]
fn the_schema_depends_on_no_crate_of_ours() {
    let metadata = metadata();
    let schema = package(&metadata, "diptych-schema");
    assert!(schema.dependencies.len() >= 3, "it depends on Arrow at least");
    assert_eq!(ours(&metadata, schema, true), [""; 0]);
}

#[test]
fn no_crate_of_a_format_depends_on_another() {
    let metadata = metadata();
    let formats = format_crates();
    let mut wrong = Vec::new();
    for name in &formats {
        for other in ours(&metadata, package(&metadata, name), true) {
            if formats.contains(other) || NO_FORMATS.contains(&other) {
                wrong.push(format!("{name} depends on {other}"));
            }
        }
    }
    none(&wrong, "a format knows the contract only");
}

#[test]
fn the_engine_and_the_contract_depend_on_no_format() {
    let metadata = metadata();
    let formats = format_crates();
    for name in ["diptych-convert", "diptych-format", "diptych-storage", "diptych-pixels"] {
        let of = ours(&metadata, package(&metadata, name), true);
        assert!(!of.iter().any(|of| formats.contains(*of)), "{name} depends on {of:?}");
    }
    let facade = ours(&metadata, package(&metadata, "diptych"), false);
    let listed = formats.iter().filter(|name| facade.contains(&name.as_str())).count();
    assert_eq!(listed, formats.len(), "the facade lists every format: {facade:?}");
    assert!(listed <= diptych::FORMATS.len(), "a crate of a format lists at least one");
}

#[test]
fn only_the_command_and_xtask_use_anyhow_and_clap() {
    let metadata = metadata();
    let uses = |of: &&Package| {
        let mut names = of.dependencies.iter().map(|of| of.name.as_str());
        names.any(|name| ["anyhow", "clap", "indicatif"].contains(&name))
    };
    let users: BTreeSet<_> =
        metadata.packages.iter().filter(uses).map(|of| of.name.as_str()).collect();
    assert_eq!(users, BTreeSet::from(["diptych-cli", "xtask"]));
}

#[test]
fn dependencies_are_declared_once_for_all() {
    let metadata = metadata();
    let root = read("Cargo.toml");
    let declared = workspace_dependencies(&root);
    assert!(declared.len() >= 20, "only {declared:?} were found");
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        for of in &package.dependencies {
            let manifest = read_manifest(package);
            if !manifest.contains(&format!("{}.workspace = true\n", of.name)) {
                wrong.push(format!("{} takes {} by itself", package.name, of.name));
            }
        }
    }
    none(&wrong, "dependencies stand in the workspace's manifest");
    let used = metadata.packages.iter().flat_map(|of| &of.dependencies).map(|of| of.name.as_str());
    let used = counts(used);
    let unused: Vec<_> =
        declared.iter().filter(|name| !used.contains_key(name.as_str())).cloned().collect();
    none(&unused, "nothing is declared that no crate uses");
}

#[test]
fn every_manifest_follows_the_workspace() {
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let folder = package.manifest_path.parent().and_then(|path| path.file_name());
        if folder != Some(name) {
            wrong.push(format!("{name} lies in a folder of another name"));
        }
        let manifest = read_manifest(package);
        let keys = ["version", "edition", "rust-version", "license", "publish"];
        let inherited = keys.map(|key| format!("\n{key}.workspace = true\n"));
        for line in inherited.iter().map(String::as_str).chain(["\n[lints]\nworkspace = true\n"]) {
            if !manifest.contains(line) {
                wrong.push(format!("{name} does not say `{}`", line.trim().replace('\n', " ")));
            }
        }
        if package.description.as_ref().is_none_or(String::is_empty) {
            wrong.push(format!("{name} has no description"));
        }
    }
    none(&wrong, "every manifest follows the workspace");
}

fn read_manifest(package: &Package) -> String {
    std::fs::read_to_string(&package.manifest_path).unwrap()
}

/// Names under `[workspace.dependencies]` in the manifest of the workspace.
pub(super) fn workspace_dependencies(manifest: &str) -> Vec<String> {
    let table = manifest.split("[workspace.dependencies]\n").nth(1).unwrap_or_default();
    let lines = table.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
}
