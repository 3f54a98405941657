//! `unit`: every crate's own tests.

use std::process::Command;
use std::time::Instant;

use super::{Context, Outcome, Suite};
use crate::cache;
use crate::error::{FileContext, Result};
use crate::{process, qemu};

pub struct Unit;

impl Suite for Unit {
    fn name(&self) -> &'static str {
        "unit"
    }

    fn about(&self) -> &'static str {
        "every crate's own tests"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        let dir = tempfile::tempdir().at("create a folder in", std::env::temp_dir())?;
        let mut command = Command::new(env!("CARGO"));
        command
            .args([
                "test",
                "--workspace",
                "--no-fail-fast",
                "--",
                "--show-output",
            ])
            .current_dir(cache::repository());
        if context.full {
            command.arg("--include-ignored");
        }
        // Some tests start real QEMUs; without one they would be skipped.
        match qemu::build(false) {
            Ok(qemu) => {
                command.env("HESPER_QEMU", qemu.system());
            }
            Err(error) => eprintln!("unit: no QEMU: {error}"),
        }
        let mut reader = Reader::default();
        eprintln!("unit: building all crates' tests");
        let started = Instant::now();
        let result = process::logged(&mut command, &dir.path().join("log"), |line| {
            reader.line(line);
            // The cases' own lines come at the end; this shows that it goes on.
            if line.starts_with("test result: ") {
                eprintln!("unit: {} tests so far", reader.tests.len());
            }
        });

        let seconds = started.elapsed().as_secs_f64();
        for test in &reader.tests {
            // cargo gives times of whole programs only.
            context.record(&test.name, test.outcome(), 0.0);
        }
        let failed = reader.tests.iter().any(|test| test.failed);
        match result {
            // Failed tests speak for themselves; anything else, such as a crate that doesn't build, is a case.
            Err(error) if !failed => {
                context.record("cargo test", Outcome::Failed(error.to_string()), seconds);
            }
            _ => {}
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Test {
    name: String,
    failed: bool,
    ignored: bool,
    output: String,
}

impl Test {
    fn outcome(&self) -> Outcome {
        let skipped = self
            .output
            .lines()
            .find_map(|line| Some(line.strip_prefix("SKIPPED")?.trim_start_matches([':', ' '])));
        if self.failed {
            Outcome::Failed(self.output.clone())
        } else if self.ignored {
            Outcome::Skipped("only with --full".into())
        } else if let Some(why) = skipped {
            Outcome::Skipped(why.to_owned())
        } else {
            Outcome::Passed
        }
    }
}

/// Reads the lines of `cargo test`.
#[derive(Debug, Default)]
struct Reader {
    tests: Vec<Test>,
    /// Where the tests of the program that reports now begin.
    first: usize,
    /// The test whose output the lines are.
    current: Option<usize>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if line.starts_with("running ") && line.contains(" test") {
            self.first = self.tests.len();
            self.current = None;
        } else if line.starts_with("test result: ") || line == "successes:" || line == "failures:" {
            self.current = None;
        } else if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            self.current = (self.first..self.tests.len()).find(|at| self.tests[*at].name == name);
        } else if let Some(at) = self.current {
            let output = &mut self.tests[at].output;
            output.push_str(line);
            output.push('\n');
        } else if let Some((name, verdict)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        {
            self.tests.push(Test {
                name: name.to_owned(),
                failed: verdict.starts_with("FAILED"),
                ignored: verdict.starts_with("ignored"),
                output: String::new(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_tests_of_two_programs_outcomes_and_output_are_told_apart() {
        let text = "\nrunning 3 tests\ntest a::one ... ok\ntest a::two ... FAILED\ntest a::three ... ignored\n\n\
                    successes:\n\n---- a::one stdout ----\nprints x: SKIPPED: y\nSKIPPED: no GPU here\n\n\n\
                    failures:\n\n---- a::two stdout ----\nthread panicked\n\nfailures:\n    a::two\n\n\
                    test result: FAILED. 1 passed; 1 failed\n\n\
                    running 1 test\ntest a::one ... ok\n\nsuccesses:\n    a::one\n\ntest result: ok.\n";
        let mut reader = Reader::default();

        text.lines().for_each(|line| reader.line(line));

        let outcomes: Vec<_> = reader.tests.iter().map(Test::outcome).collect();
        assert_eq!(outcomes.len(), 4);
        assert_eq!(outcomes[0], Outcome::Skipped("no GPU here".into()));
        assert!(matches!(&outcomes[1], Outcome::Failed(why) if why.contains("panicked")));
        assert_eq!(outcomes[2], Outcome::Skipped("only with --full".into()));
        assert_eq!(outcomes[3], Outcome::Passed);
    }
}
