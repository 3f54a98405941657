//! `selftest --graphics`: pictures whose digests must be the same natively and on the virtual GPU.

use crate::error::Error;
use crate::vulkan::graphics::Graphics;

/// FNV-1a, 64 bits: enough to compare pictures that nobody forges.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Runs it; false if a picture shows nothing. What the pictures should be is what another device says.
pub fn run(device: Option<&str>) -> Result<bool, Error> {
    let graphics = Graphics::open(device)?;
    println!("selftest: graphics on \"{}\"", graphics.name());
    let (mut good, mut all) = (true, Vec::new());
    let drawn = graphics.pictures(|name, content| {
        let pixels: Vec<&[u8]> = content.chunks_exact(4).collect();
        // Layers 0 and 2 of the copies are plain on purpose.
        let plain = pixels.windows(2).all(|pair| pair[0] == pair[1]);
        let black = pixels.iter().all(|pixel| **pixel == [0; 4]);
        let expected = name.ends_with("layer 0") || name.ends_with("layer 2");
        let right = plain == expected && !black;
        good &= right;
        all.extend_from_slice(content);
        println!(
            "selftest: {name}: {}, digest {:016x}",
            if right { "ok" } else { "WRONG" },
            digest(content),
        );
    });
    if let Err(error) = drawn {
        // A device that failed may not answer a tear-down.
        std::mem::forget(graphics);
        return Err(error);
    }
    println!("selftest: graphics digest={:016x}", digest(&all));
    println!("selftest: {}", if good { "PASS" } else { "FAIL" });
    Ok(good)
}
