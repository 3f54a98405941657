//! Third pass: carries the roots along the edges and sums up what each entry point reaches.

use std::collections::BTreeSet;

use super::module::{ModuleFacts, Write};
use super::{BindingRef, EntryPointWrites, ModuleWrites, SpirvError};

/// Most steps of one analysis; beyond it every entry point counts as writing anything.
pub(super) const STEPS_MAX: u64 = 20_000_000;

#[derive(Debug, Default)]
struct FunctionWrites {
    bindings: BTreeSet<BindingRef>,
    unknown: bool,
}

/// Flows roots to writes, functions to entry points, in at most `steps` steps.
pub(super) fn resolve(facts: &ModuleFacts, steps: u64) -> Result<ModuleWrites, SpirvError> {
    refuse_recursion(facts)?;
    let mut budget = steps;
    let functions = function_writes(facts, &mut budget);
    let mut result = ModuleWrites::default();
    for entry in &facts.entry_points {
        let mut sum = EntryPointWrites {
            name: entry.name.clone(),
            execution_model: entry.execution_model,
            ..EntryPointWrites::default()
        };
        let reached = match &functions {
            Some(_) => reachable(facts, entry.function, &mut budget),
            None => None,
        };
        match (&functions, reached) {
            (Some(functions), Some(reached)) => {
                let mut bindings = BTreeSet::new();
                for index in reached {
                    let index = index as usize;
                    sum.addresses |= facts.functions[index].addresses;
                    sum.unknown |= facts.functions[index].unknown | functions[index].unknown;
                    bindings.extend(functions[index].bindings.iter().copied());
                }
                sum.bindings = bindings.into_iter().collect();
            }
            _ => {
                sum.addresses = true;
                sum.unknown = true;
            }
        }
        result.entry_points.push(sum);
    }
    Ok(result)
}

fn spend(budget: &mut u64, steps: u64) -> bool {
    match budget.checked_sub(steps) {
        Some(left) => {
            *budget = left;
            true
        }
        None => false,
    }
}

/// What each function itself writes; None when that takes too long.
fn function_writes(facts: &ModuleFacts, budget: &mut u64) -> Option<Vec<FunctionWrites>> {
    let size = facts.bound as usize;
    let mut edges: Vec<(u32, u32)> = facts
        .edges
        .iter()
        .copied()
        .filter(|(from, to)| (*from as usize) < size && (*to as usize) < size)
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut writes: Vec<Write> = facts.writes.clone();
    writes.sort_unstable();
    writes.dedup();

    let mut functions: Vec<FunctionWrites> = Vec::new();
    functions.resize_with(facts.functions.len(), FunctionWrites::default);
    let mut rooted = vec![false; writes.len()];
    // By id: 1 + the index of the last root that came by.
    let mut seen = vec![0u32; size];
    let mut stack: Vec<u32> = Vec::new();
    for (index, root) in facts.roots.iter().enumerate() {
        let mark = index as u32 + 1;
        seen[root.id as usize] = mark;
        stack.push(root.id);
        while let Some(id) = stack.pop() {
            let from_write = writes.partition_point(|write| write.id < id);
            for (offset, write) in writes[from_write..]
                .iter()
                .take_while(|w| w.id == id)
                .enumerate()
            {
                rooted[from_write + offset] = true;
                let function = &mut functions[write.function as usize];
                match root.binding {
                    Some(binding) => {
                        function.bindings.insert(binding);
                    }
                    None => function.unknown = true,
                }
                if !spend(budget, 1) {
                    return None;
                }
            }
            let from_edge = edges.partition_point(|edge| edge.0 < id);
            for (_, to) in edges[from_edge..].iter().take_while(|edge| edge.0 == id) {
                if !spend(budget, 1) {
                    return None;
                }
                if seen[*to as usize] != mark {
                    seen[*to as usize] = mark;
                    stack.push(*to);
                }
            }
        }
    }
    for (write, rooted) in writes.iter().zip(rooted) {
        if write.needs_root && !rooted {
            functions[write.function as usize].unknown = true;
        }
    }
    Some(functions)
}

/// Functions that `start` runs, itself included; None when that takes too long.
fn reachable(facts: &ModuleFacts, start: u32, budget: &mut u64) -> Option<Vec<u32>> {
    let mut seen = vec![false; facts.functions.len()];
    let mut stack = vec![start];
    let mut reached = Vec::new();
    if !spend(budget, seen.len() as u64) {
        return None;
    }
    seen[start as usize] = true;
    while let Some(function) = stack.pop() {
        reached.push(function);
        let calls = &facts.functions[function as usize].calls;
        if !spend(budget, calls.len() as u64) {
            return None;
        }
        for callee in calls {
            if !seen[*callee as usize] {
                seen[*callee as usize] = true;
                stack.push(*callee);
            }
        }
    }
    Some(reached)
}

/// Walks the call graph without a stack of our own, so that depth costs memory and not the thread's stack.
fn refuse_recursion(facts: &ModuleFacts) -> Result<(), SpirvError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; facts.functions.len()];
    for start in 0..facts.functions.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some(callee) = facts.functions[*function].calls.get(*next) else {
                marks[*function] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let callee = *callee as usize;
            match marks[callee] {
                Mark::New => {
                    marks[callee] = Mark::Open;
                    path.push((callee, 0));
                }
                Mark::Open => {
                    return Err(SpirvError::Recursion {
                        function: facts.functions[callee].id,
                    });
                }
                Mark::Done => {}
            }
        }
    }
    Ok(())
}
