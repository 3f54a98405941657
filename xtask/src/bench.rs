//! `cargo xtask bench`: what Hesper costs, in figures.
//!
//! Every measurement runs its variants in turn, several times over, so that whatever else the machine does meets them
//! all; what is told are medians and their ratios.

mod audit;
mod peer;
mod venus;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, FileContext, Result};
use crate::vtest::{Programs, Server, until};

/// Longest run of the client.
const LIMIT: Duration = Duration::from_secs(300);
/// How often the client measures each figure in one run: placement on the processors changes from one to the next.
const REPEAT: &str = "9";

/// A set of figures that are measured together by name: `cargo xtask bench NAME`.
pub trait Measurement {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// What it compares, in a few words.
    fn about(&self) -> &'static str;
    /// Measures every variant `runs` times.
    fn run(&self, runs: usize) -> Result<Vec<Row>>;
}

fn all() -> Vec<Box<dyn Measurement>> {
    vec![
        Box::new(venus::Venus),
        Box::new(audit::Audit),
        Box::new(audit::Instructions),
    ]
}

/// One figure of several variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub unit: String,
    /// By variant.
    pub medians: BTreeMap<String, f64>,
    /// By `variant/base`.
    pub ratios: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
}

/// Runs the named measurements (all of them if none is named), prints them and writes them to `json`.
pub fn run(names: &[String], runs: usize, json: Option<&Path>) -> Result<()> {
    let mut chosen = all();
    if let Some(unknown) = names
        .iter()
        .find(|name| !chosen.iter().any(|one| one.name() == *name))
    {
        let known: Vec<_> = chosen
            .iter()
            .map(|one| format!("{} ({})", one.name(), one.about()))
            .collect();
        return Err(Error::Usage(format!(
            "No measurement {unknown}; there are: {}",
            known.join(", ")
        )));
    }
    chosen.retain(|one| names.is_empty() || names.iter().any(|name| name == one.name()));
    let mut report = Report { rows: Vec::new() };
    for one in chosen {
        println!("{}: {}, {runs} runs of each", one.name(), one.about());
        let rows = one.run(runs)?;
        for row in &rows {
            println!("{}", line(row));
        }
        report.rows.extend(rows);
    }
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from);
        text.and_then(|text| std::fs::write(path, text + "\n"))
            .at("write", path)?;
    }
    Ok(())
}

fn line(row: &Row) -> String {
    let medians: Vec<_> = row
        .medians
        .iter()
        .map(|(name, value)| format!("{name} {value:.3} {}", row.unit))
        .collect();
    let ratios: Vec<_> = row
        .ratios
        .iter()
        .map(|(name, value)| format!("{name} {value:.2}"))
        .collect();
    format!(
        "{}: {} ({})",
        row.name,
        medians.join(", "),
        ratios.join(", ")
    )
}

/// What the runs of several variants told, by figure.
#[derive(Debug, Default)]
pub struct Figures {
    /// Name and unit, in the order in which they came, and the values by variant.
    rows: Vec<(String, String, BTreeMap<String, Vec<f64>>)>,
}

impl Figures {
    /// Adds what one run of `hesper-guest bench --json` wrote: of each figure the median.
    pub fn add(&mut self, variant: &str, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path).at("read", path)?;
        let report: Value = serde_json::from_str(&text)
            .map_err(std::io::Error::from)
            .at("read", path)?;
        let odd = || Error::Guest(format!("An odd report: {report}"));
        for row in report["rows"].as_array().ok_or_else(odd)? {
            let name = row["name"].as_str().ok_or_else(odd)?;
            let unit = row["unit"].as_str().ok_or_else(odd)?;
            let values = row["values"].as_array().ok_or_else(odd)?;
            let values = values.iter().filter_map(Value::as_f64).collect();
            self.push(variant, name, unit, median(values).ok_or_else(odd)?);
        }
        Ok(())
    }

    /// Runs the client over a server, and adds what it told and the CPU time of its worker's own thread, which decodes,
    /// audits and calls the driver (the driver's threads are others).
    pub fn run_over(
        &mut self,
        variant: &str,
        server: &mut Server,
        programs: &Programs,
        report: &Path,
    ) -> Result<()> {
        let mut command = server.command(&programs.guest);
        command.args(["bench", "--repeat", REPEAT, "--linger-ms", "1000"]);
        let mut client = server.client(command.arg("--json").arg(report))?;
        until("the report of a client", LIMIT, || {
            client.process.check_running()?;
            let text = std::fs::read_to_string(report).unwrap_or_default();
            Ok(text.ends_with('\n').then_some(()))
        })?;
        let contexts = server.contexts()?;
        let worker = contexts
            .first()
            .ok_or_else(|| Error::Guest("The client's context is gone".into()))?
            .worker;
        let path = format!("/proc/{worker}/task/{worker}/schedstat");
        let text = std::fs::read_to_string(&path).at("read", &path)?;
        client.succeed(LIMIT)?;
        self.add(variant, report)?;
        let nanoseconds = text
            .split_whitespace()
            .next()
            .and_then(|word| word.parse::<f64>().ok());
        if let Some(nanoseconds) = nanoseconds {
            let name = "CPU time of the worker's thread";
            self.push(variant, name, "ms", nanoseconds / 1e6);
        }
        // The spare worker of the next client is started behind this one's back.
        server.settles()
    }

    /// Adds one value.
    pub fn push(&mut self, variant: &str, name: &str, unit: &str, value: f64) {
        let at = self.rows.iter().position(|(known, ..)| known == name);
        let at = at.unwrap_or_else(|| {
            self.rows
                .push((name.to_owned(), unit.to_owned(), BTreeMap::new()));
            self.rows.len() - 1
        });
        let values = &mut self.rows[at].2;
        values.entry(variant.to_owned()).or_default().push(value);
    }

    /// Medians, and the ratio of each of the `variants` to each that comes before it.
    pub fn rows(self, variants: &[&str]) -> Vec<Row> {
        self.rows
            .into_iter()
            .map(|(name, unit, values)| {
                let medians: BTreeMap<_, _> = values
                    .into_iter()
                    .filter_map(|(variant, values)| Some((variant, median(values)?)))
                    .collect();
                let mut ratios = BTreeMap::new();
                for (at, variant) in variants.iter().enumerate() {
                    for base in &variants[..at] {
                        if let (Some(value), Some(to)) = (medians.get(*variant), medians.get(*base))
                        {
                            ratios.insert(format!("{variant}/{base}"), value / to);
                        }
                    }
                }
                Row {
                    name,
                    unit,
                    medians,
                    ratios,
                }
            })
            .collect()
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_medians_and_ratios_to_the_base() {
        let mut figures = Figures::default();
        for value in [4.0, 1.0, 2.0] {
            figures.push("native", "submits", "ms", value);
        }
        for value in [9.0, 3.0] {
            figures.push("hesper", "submits", "ms", value);
        }

        let rows = figures.rows(&["native", "hesper"]);

        assert_eq!(rows[0].medians["native"], 2.0);
        assert_eq!(rows[0].medians["hesper"], 6.0);
        assert_eq!(
            rows[0].ratios,
            BTreeMap::from([("hesper/native".to_owned(), 3.0)])
        );
    }

    #[test]
    fn run_unknown_measurement_is_refused_and_names_the_known() {
        let error = run(&["nonsense".into()], 1, None).unwrap_err();

        assert!(error.to_string().contains("venus"), "{error}");
    }
}
