//! Shaders that no driver should see: each must fail by itself, and what is made afterwards must work.

use ash::vk;

use crate::error::{Error, Named};
use crate::selftest;
use crate::session::Session;

const GOOD: &[u8] = include_bytes!("../shaders/mix.spv");
const VERTEX: &[u8] = include_bytes!("../shaders/triangle_vert.spv");
const CALL: &[u8] = include_bytes!("../shaders/bad/call.spv");
const TYPE: &[u8] = include_bytes!("../shaders/bad/type.spv");
/// More than any shader has: 16 MiB and a word.
const HUGE: usize = (16 << 20) + 4;

/// OpNop, of one word.
const NOP: [u8; 4] = (1u32 << 16).to_le_bytes();

/// Runs it; true if each bad shader failed and the good ones are right.
pub fn run(device: Option<&str>) -> Result<bool, Error> {
    let (gpu, shape) = selftest::open(device)?;
    println!("bad-spirv: device \"{}\"", gpu.name());
    let raw = gpu.shared.raw.clone();
    let mut good = true;
    for (name, code) in bad() {
        // Mesa does not wait for the answer on the thread that submits, but does on others.
        let unanswered = both(&raw, &code);
        let answered = std::thread::scope(|scope| scope.spawn(|| both(&raw, &code)).join());
        let answered = answered.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        for (kind, told, answer) in [
            ("compute", &unanswered.0, &answered.0),
            ("graphics", &unanswered.1, &answered.1),
        ] {
            for result in [told, answer] {
                if matches!(result, Err(error) if error.exit_code() == 2) {
                    std::mem::forget(gpu);
                    return Err(Error::Option(format!("{name}, {kind}: the device is lost")));
                }
            }
            let text = match answer {
                Ok(()) => "WRONG, no error".to_owned(),
                Err(error) => format!("ok, {error}"),
            };
            good &= answer.is_err();
            println!("bad-spirv: {name}, {kind}: {text}");
        }
    }
    let (compute, graphics) = (pipeline(&raw, GOOD), vertex_pipeline(&raw, VERTEX));
    compute.and(graphics)?;
    let mut session = Session::on(gpu, shape)?;
    let right = selftest::check(&mut session);
    if right.is_err() {
        // As in `work`: a device that failed may not answer a tear-down.
        std::mem::forget(session);
    }
    let good = good & right?;
    println!("bad-spirv: {}", if good { "PASS" } else { "FAIL" });
    Ok(good)
}

fn both(raw: &ash::Device, code: &[u8]) -> (Result<(), Error>, Result<(), Error>) {
    (pipeline(raw, code), vertex_pipeline(raw, code))
}

fn words(code: &[u8]) -> Vec<u32> {
    code.chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let with = |at: usize, word: u32| {
        let mut code = GOOD.to_vec();
        code[at * 4..at * 4 + 4].copy_from_slice(&word.to_le_bytes());
        code
    };
    let mut huge = GOOD.to_vec();
    huge.extend(NOP.repeat((HUGE - GOOD.len()) / 4));
    let name = GOOD.windows(5).position(|bytes| bytes == b"main\0");
    let mut nameless = GOOD.to_vec();
    if let Some(at) = name {
        nameless[at..at + 4].copy_from_slice(b"niam");
    }
    vec![
        ("nothing but a header", GOOD[..20].to_vec()),
        ("another magic number", with(0, 0x0bad_cafe)),
        ("cut off", GOOD[..GOOD.len() - 8].to_vec()),
        ("ids beyond the bound", with(3, 3)),
        ("a bound beyond all limits", with(3, u32::MAX)),
        ("longer than 16 MiB", huge),
        ("no entry point of that name", nameless),
        ("a function that calls itself", CALL.to_vec()),
        ("a structure that holds itself", TYPE.to_vec()),
    ]
}

/// Runs `make` with a module of `code` and a pipeline layout; both are gone afterwards.
fn with_module(
    raw: &ash::Device,
    code: &[u8],
    make: impl FnOnce(vk::ShaderModule, vk::PipelineLayout) -> Result<Vec<vk::Pipeline>, Error>,
) -> Result<(), Error> {
    let words = words(code);
    let push = [vk::PushConstantRange {
        stage_flags: vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::COMPUTE,
        offset: 0,
        size: 20,
    }];
    let bindings = [0, 1].map(|binding| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
    });
    let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    let module = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: all structures are complete and live across the calls; nothing made here is used. That the code is no
    // shader is what is tried: the server must see that before a driver does.
    unsafe {
        let sets = [raw
            .create_descriptor_set_layout(&set, None)
            .named("vkCreateDescriptorSetLayout")?];
        let layout = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&sets)
            .push_constant_ranges(&push);
        let layout = raw
            .create_pipeline_layout(&layout, None)
            .named("vkCreatePipelineLayout")?;
        let module = raw
            .create_shader_module(&module, None)
            .named("vkCreateShaderModule");
        let made = module.and_then(|module| {
            let made = make(module, layout);
            raw.destroy_shader_module(module, None);
            made
        });
        for pipeline in made.iter().flatten() {
            raw.destroy_pipeline(*pipeline, None);
        }
        raw.destroy_pipeline_layout(layout, None);
        raw.destroy_descriptor_set_layout(sets[0], None);
        made.map(drop)
    }
}

/// A compute pipeline, made and destroyed.
fn pipeline(raw: &ash::Device, code: &[u8]) -> Result<(), Error> {
    with_module(raw, code, |module, layout| {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
        let info = [vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(layout)];
        // SAFETY: as in `with_module`.
        unsafe { raw.create_compute_pipelines(vk::PipelineCache::null(), &info, None) }
            .map_err(|(_, result)| result)
            .named("vkCreateComputePipelines")
    })
}

/// A graphics pipeline of a vertex shader alone, made and destroyed.
fn vertex_pipeline(raw: &ash::Device, code: &[u8]) -> Result<(), Error> {
    let subpasses = [vk::SubpassDescription::default()];
    let pass = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
    // SAFETY: the structure is complete and lives across the call.
    let pass = unsafe { raw.create_render_pass(&pass, None) }.named("vkCreateRenderPass")?;
    let input = vk::PipelineVertexInputStateCreateInfo::default();
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let raster = vk::PipelineRasterizationStateCreateInfo::default()
        .rasterizer_discard_enable(true)
        .line_width(1.0);
    let made = with_module(raw, code, |module, layout| {
        let stages = [vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::VERTEX)
            .module(module)
            .name(c"main")];
        let info = [vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .rasterization_state(&raster)
            .layout(layout)
            .render_pass(pass)];
        // SAFETY: as in `with_module`.
        unsafe { raw.create_graphics_pipelines(vk::PipelineCache::null(), &info, None) }
            .map_err(|(_, result)| result)
            .named("vkCreateGraphicsPipelines")
    });
    // SAFETY: no pipeline of it is left.
    unsafe { raw.destroy_render_pass(pass, None) };
    made
}
