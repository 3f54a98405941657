//! The test suites: a registry, and how their cases run and are reported.
//!
//! To add one: a module with a type that implements [`Suite`], and its line in [`all`].

mod audit;
mod codec;
mod display;
mod guest;
mod ha;
mod kvm;
mod migrate;
mod stock;
mod unit;
mod venus;
mod vm;
pub mod world;

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::error::{Error, FileContext, Result};

/// A set of cases that are run together by name: `cargo xtask test NAME`.
pub trait Suite {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// What it shows, in a few words.
    fn about(&self) -> &'static str;
    /// Runs its cases through [`Context::case`] or [`Context::record`]. An error means that the suite could not go on;
    /// it counts as a failed case.
    fn run(&self, context: &mut Context) -> Result<()>;
}

/// Every suite, in the order in which they run.
pub fn all() -> Vec<Box<dyn Suite>> {
    vec![
        Box::new(unit::Unit),
        Box::new(codec::Codec),
        Box::new(guest::Guest),
        Box::new(venus::Venus),
        Box::new(audit::Audit),
        Box::new(kvm::Kvm),
        Box::new(vm::VmSuite),
        Box::new(stock::Stock),
        Box::new(migrate::Migrate),
        Box::new(ha::Ha),
    ]
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "why")]
pub enum Outcome {
    Passed,
    Failed(String),
    /// The machine lacks something; the text says what.
    Skipped(String),
}

/// A case's report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    pub suite: &'static str,
    pub name: String,
    #[serde(flatten)]
    pub outcome: Outcome,
    pub seconds: f64,
}

/// What a running suite works with.
#[derive(Debug)]
pub struct Context {
    /// Whether the long variants are asked for (`--full`).
    pub full: bool,
    suite: &'static str,
    cases: Vec<Case>,
}

impl Context {
    fn new(full: bool) -> Context {
        Context {
            full,
            suite: "",
            cases: Vec::new(),
        }
    }

    /// Runs a case, prints its line and keeps its result. The case returns [`Outcome::Passed`] or
    /// [`Outcome::Skipped`]; an error is a failure.
    pub fn case(&mut self, name: &str, run: impl FnOnce() -> Result<Outcome>) {
        let started = Instant::now();
        let outcome = run().unwrap_or_else(|error| Outcome::Failed(error.to_string()));
        self.record(name, outcome, started.elapsed().as_secs_f64());
    }

    /// Reports a case that something else has run.
    pub fn record(&mut self, name: &str, outcome: Outcome, seconds: f64) {
        let suite = self.suite;
        match &outcome {
            Outcome::Passed => println!("{suite}: {name}: passed ({seconds:.1} s)"),
            Outcome::Skipped(why) => println!("{suite}: {name}: SKIPPED: {why}"),
            Outcome::Failed(why) => println!("{suite}: {name}: FAILED ({seconds:.1} s)\n{why}"),
        }
        self.cases.push(Case {
            suite,
            name: name.to_owned(),
            outcome,
            seconds,
        });
    }

    fn count(&self, counts: impl Fn(&Outcome) -> bool) -> usize {
        self.cases
            .iter()
            .filter(|case| case.suite == self.suite && counts(&case.outcome))
            .count()
    }
}

/// Runs the named suites (all of them if none is named), writes a report to `json` and fails if any case did.
pub fn run(names: &[String], full: bool, json: Option<&Path>) -> Result<()> {
    let mut suites = all();
    if let Some(unknown) = names
        .iter()
        .find(|name| !suites.iter().any(|suite| suite.name() == *name))
    {
        let known: Vec<_> = suites
            .iter()
            .map(|suite| format!("{} ({})", suite.name(), suite.about()))
            .collect();
        return Err(Error::Usage(format!(
            "No suite {unknown}; there are: {}",
            known.join(", ")
        )));
    }
    suites.retain(|suite| names.is_empty() || names.iter().any(|name| name == suite.name()));
    let cases = run_suites(&suites, full);
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&cases).map_err(std::io::Error::from);
        text.and_then(|text| std::fs::write(path, text + "\n"))
            .at("write", path)?;
    }
    for line in failures(&cases) {
        println!("{line}");
    }
    let [passed, failed, skipped] = totals(&cases);
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 {
        Ok(())
    } else {
        Err(Error::CasesFailed(failed))
    }
}

/// Longest reason that is told again at the end, characters.
const REASON_MAX: usize = 600;

/// The cases that failed, a line each: at the end of a long log, where they are looked for.
fn failures(cases: &[Case]) -> Vec<String> {
    cases
        .iter()
        .filter_map(|case| match &case.outcome {
            Outcome::Failed(why) => {
                let why: Vec<_> = why.split_whitespace().collect();
                let why: String = why.join(" ").chars().take(REASON_MAX).collect();
                Some(format!("FAILED: {}: {}: {why}", case.suite, case.name))
            }
            _ => None,
        })
        .collect()
}

/// How many cases passed, failed and were skipped.
fn totals(cases: &[Case]) -> [usize; 3] {
    let mut totals = [0; 3];
    for case in cases {
        totals[match case.outcome {
            Outcome::Passed => 0,
            Outcome::Failed(_) => 1,
            Outcome::Skipped(_) => 2,
        }] += 1;
    }
    totals
}

fn run_suites(suites: &[Box<dyn Suite>], full: bool) -> Vec<Case> {
    let mut context = Context::new(full);
    for suite in suites {
        context.suite = suite.name();
        let started = Instant::now();
        if let Err(error) = suite.run(&mut context) {
            let seconds = started.elapsed().as_secs_f64();
            context.record("suite", Outcome::Failed(error.to_string()), seconds);
        }
        let passed = context.count(|outcome| *outcome == Outcome::Passed);
        let failed = context.count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let skipped = match context.count(|outcome| matches!(outcome, Outcome::Skipped(_))) {
            0 => String::new(),
            n => format!(", {n} skipped"),
        };
        println!(
            "{}: {passed} passed, {failed} failed{skipped}",
            suite.name()
        );
    }
    context.cases
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sample;

    impl Suite for Sample {
        fn name(&self) -> &'static str {
            "sample"
        }
        fn about(&self) -> &'static str {
            "a sample"
        }
        fn run(&self, context: &mut Context) -> Result<()> {
            context.case("good", || Ok(Outcome::Passed));
            context.case("bad", || Err(Error::Usage("broken".into())));
            context.case("absent", || Ok(Outcome::Skipped("no GPU".into())));
            Err(Error::Usage("went away".into()))
        }
    }

    #[test]
    fn run_suites_suite_ends_with_error_it_is_one_more_failed_case() {
        let cases = run_suites(&[Box::new(Sample)], false);

        assert_eq!(totals(&cases), [1, 2, 1]);
        assert_eq!(
            failures(&cases),
            [
                "FAILED: sample: bad: broken",
                "FAILED: sample: suite: went away"
            ]
        );
        let outcomes: Vec<_> = cases.into_iter().map(|case| case.outcome).collect();
        assert_eq!(
            outcomes,
            [
                Outcome::Passed,
                Outcome::Failed("broken".into()),
                Outcome::Skipped("no GPU".into()),
                Outcome::Failed("went away".into()),
            ]
        );
    }

    #[test]
    fn run_unknown_suite_is_refused_and_names_the_known() {
        let error = run(&["nonsense".into()], false, None).unwrap_err();

        assert!(error.to_string().contains("unit"), "{error}");
    }

    #[test]
    fn case_as_json_is_flat() {
        let case = Case {
            suite: "sample",
            name: "bad".into(),
            outcome: Outcome::Failed("broken".into()),
            seconds: 0.5,
        };

        let text = serde_json::to_string(&case).unwrap();

        assert_eq!(
            text,
            r#"{"suite":"sample","name":"bad","outcome":"failed","why":"broken","seconds":0.5}"#
        );
    }
}
