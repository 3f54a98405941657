//! A short check of every kind of command that the workload uses.

use crate::error::Error;
use crate::model::{Dispatch, Kernel, Step};
use crate::plan::{HostWrite, Shape};
use crate::session::Session;
use crate::vulkan::Gpu;

/// Runs it; true if all is right. Deterministic: no seed, no clock.
pub fn run(device: Option<&str>) -> Result<bool, Error> {
    let (gpu, shape) = open(device)?;
    let mut session = Session::on(gpu, shape)?;
    println!("selftest: device \"{}\"", session.gpu.name());
    let result = check(&mut session);
    match result {
        Ok(good) => println!("selftest: {}", if good { "PASS" } else { "FAIL" }),
        // As in `work`: a device that failed may not answer a tear-down.
        Err(_) => std::mem::forget(session),
    }
    result
}

/// A device, and the buffers that the check works with.
pub fn open(device: Option<&str>) -> Result<(Gpu, Shape), Error> {
    let shape = Shape {
        buffers: 2,
        buffer_words: 16 * 1024,
        shared_words: 4096,
        upload_words: 4096,
        dirty: 2,
        chain: 4,
        step_words: 16 * 1024,
    };
    Ok((Session::open(device)?, shape))
}

/// The check itself; true if all is right.
pub fn check(session: &mut Session) -> Result<bool, Error> {
    let (shared, upload) = (session.shape.shared(), session.shape.upload());
    let mut good = true;
    for target in 0..2 {
        session.run(&[fill(target, 0, 16 * 1024, 0x5eed_0000)])?;
    }
    session.run(&[fill(shared, 0, 4096, 7)])?;
    good &= verify(session, "fill")?;

    let steps = [
        ("update", vec![update()]),
        ("dispatch", vec![dispatch(Kernel::Mix, 0, 0)]),
        (
            "dispatch to another buffer",
            vec![dispatch(Kernel::Mix, 0, 1)],
        ),
        (
            "chain of dispatches",
            vec![
                dispatch(Kernel::Fold, 0, 1),
                dispatch(Kernel::Scatter, 1, 0),
                dispatch(Kernel::Fold, 1, 1),
            ],
        ),
        ("copy", vec![copy(0, 1, 9000)]),
        ("partial fill", vec![fill(1, 77, 1234, 0xffff_ffff)]),
        ("copy to host-visible memory", vec![copy(1, shared, 3000)]),
    ];
    for (name, steps) in steps {
        session.run(&steps)?;
        good &= verify(session, name)?;
    }

    // The workload's own path: CPU writes, a command buffer submitted twice, timeline and fence.
    session.add_fixed(vec![dispatch(Kernel::Fold, 1, 0), fill(0, 5, 32, 3)])?;
    let write = HostWrite {
        buffer: upload,
        first: 100,
        data: (0..3000).collect(),
    };
    for _ in 0..4 {
        let writes = std::slice::from_ref(&write);
        let seen = session.round(writes, Some(0), &[copy(upload, 1, 4000)], None)?;
        good &= seen.mismatches.is_empty();
    }
    good &= verify(session, "rounds with CPU writes and reused commands")?;
    Ok(good)
}

fn verify(session: &mut Session, name: &str) -> Result<bool, Error> {
    let check = session.verify_all()?;
    match check.mismatches.first() {
        None => println!("selftest: {name}: ok, {} bytes compared", check.bytes),
        Some(wrong) => println!(
            "selftest: {name}: WRONG, {} words, the first: buffer={} offset={:#x} \
             expected={:#010x} got={:#010x}",
            check.mismatches.len(),
            wrong.buffer,
            wrong.offset,
            wrong.expected,
            wrong.got,
        ),
    }
    Ok(check.mismatches.is_empty())
}

fn fill(target: usize, first: usize, count: usize, value: u32) -> Step {
    Step::Fill {
        target,
        first,
        count,
        value,
    }
}

fn update() -> Step {
    Step::Update {
        target: 0,
        first: 1000,
        data: (0..1024).collect(),
    }
}

fn dispatch(kernel: Kernel, source: usize, target: usize) -> Step {
    Step::Dispatch(Dispatch {
        kernel,
        source,
        source_first: 64,
        target,
        target_first: 64,
        count: 8192,
        key: 0x1234_5678,
        stride: 4099,
    })
}

fn copy(source: usize, target: usize, count: usize) -> Step {
    Step::Copy {
        source,
        source_first: 33,
        target,
        target_first: 55,
        count,
    }
}
