//! The images of random programs, and what is recorded with them but shader stores.

use std::rc::Rc;

use ash::vk;

use super::world::World;
use crate::error::Error;
use crate::model::Rng;
use crate::vulkan::image::{Canvas, Image, Part, Shape, TEXEL, Targets, Use, View, Window};
use crate::vulkan::memory::Memory;
use crate::vulkan::{Buffer, Gpu, Recorder};

const SIDE: u32 = 64;
const ONE: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_1;
const COLOR: Shape = Shape {
    used: Use::Color,
    side: SIDE,
    levels: 3,
    layers: 3,
    samples: ONE,
};
const DEPTH: Shape = Shape {
    used: Use::Depth,
    levels: 1,
    layers: 2,
    ..COLOR
};
const SAMPLES: Shape = Shape {
    levels: 1,
    layers: 1,
    samples: vk::SampleCountFlags::TYPE_4,
    ..COLOR
};
const COUNTERS: Shape = Shape {
    used: Use::Storage,
    levels: 2,
    layers: 2,
    ..COLOR
};
/// Images that are copied, of one sample: two of colors, depth, counters.
const SHAPES: [Shape; 4] = [COLOR, COLOR, DEPTH, COUNTERS];
const COLORS: usize = 2;
const DEPTHS: usize = 2;
const STORAGE: usize = 3;
/// Canvases of each kind, with targets of their own.
const CANVASES: usize = 2;
const TRIANGLES_MAX: usize = 3;
/// Device-local bytes of all images at most: 64 KiB of 4 samples, and less than 256 KiB of the others, with much room
/// for how a device lays them out.
pub const PICTURE_BYTES_MAX: u64 = 1 << 20;

/// All images, and what draws to them. Every image has content from the start, and is in GENERAL layout.
pub struct Pictures {
    /// In the order of [`SHAPES`].
    images: Vec<Rc<Image>>,
    samples: Rc<Image>,
    /// One of `images`, whose memory buffers lie in, too, if there is such.
    aliased: Option<usize>,
    /// Views that shaders store through.
    pub storage: Vec<View>,
    canvases: Vec<Canvas>,
}

/// An image by its number, and a part of it.
type Place = (usize, Part);

/// One random command with images, or a pass.
pub enum Paint {
    Clear {
        /// None: the one of several samples.
        image: Option<usize>,
        part: Part,
        rest: bool,
        value: u32,
    },
    Load {
        source: Rc<Buffer>,
        target: usize,
        window: Window,
    },
    Store {
        source: usize,
        target: Rc<Buffer>,
        window: Window,
    },
    Copy(Place, Place),
    Blit(Place, Place),
    Resolve {
        target: usize,
        layer: u32,
    },
    Draw {
        canvas: usize,
        shade: f32,
        triangles: Vec<[f32; 4]>,
    },
}

impl Paint {
    /// Whether it is for primary command buffers only.
    pub fn is_pass(&self) -> bool {
        matches!(self, Self::Draw { .. })
    }
}

fn part(rng: &mut Rng, shape: Shape) -> Part {
    Part {
        level: rng.below(shape.levels as usize) as u32,
        layer: rng.below(shape.layers as usize) as u32,
    }
}

impl Pictures {
    /// Makes all images, one of them in `shared` memory at a random place, if it may lie there. They must be given
    /// content by [`Self::prepare`] before they are used.
    pub fn new(gpu: &Gpu, rng: &mut Rng, shared: &Rc<Memory>) -> Result<Self, Error> {
        let wanted = rng.below(SHAPES.len());
        let mut aliased = None;
        let mut images = Vec::new();
        for (number, shape) in SHAPES.into_iter().enumerate() {
            let unbound = gpu.create_image(shape)?;
            if number != wanted || !unbound.fits(shared) {
                images.push(Rc::new(gpu.image_alone(shape)?));
                continue;
            }
            let needs = unbound.requirements;
            let places = (shared.size() - needs.size) / needs.alignment + 1;
            let offset = rng.below(places as usize) as u64 * needs.alignment;
            images.push(Rc::new(unbound.bind(shared, offset)?));
            aliased = Some(number);
        }
        let samples = Rc::new(gpu.image_alone(SAMPLES)?);
        let mut storage = Vec::new();
        for level in 0..COUNTERS.levels {
            for layer in 0..COUNTERS.layers {
                storage.push(gpu.view(&images[STORAGE], Part { level, layer })?);
            }
        }
        let mut pictures = Self {
            images,
            samples,
            aliased,
            storage,
            canvases: Vec::new(),
        };
        pictures.make_canvases(gpu, rng)?;
        Ok(pictures)
    }

    /// Render passes with depth and with a resolve, and the same without depth by dynamic rendering where the device
    /// has that.
    fn make_canvases(&mut self, gpu: &Gpu, rng: &mut Rng) -> Result<(), Error> {
        let brush = gpu.brush()?;
        for index in 0..CANVASES {
            for dynamic in [false, true] {
                if dynamic && !gpu.features.dynamic_rendering {
                    continue;
                }
                for many in [false, true] {
                    let mut layer = |shape: Shape| Part {
                        level: 0,
                        layer: rng.below(shape.layers as usize) as u32,
                    };
                    let flat = gpu.view(&self.images[index % COLORS], layer(COLOR))?;
                    let targets = match many {
                        false => Targets {
                            color: flat,
                            depth: match dynamic {
                                true => None,
                                false => Some(gpu.view(&self.images[DEPTHS], layer(DEPTH))?),
                            },
                            resolve: None,
                        },
                        true => Targets {
                            color: gpu.view(&self.samples, layer(SAMPLES))?,
                            depth: None,
                            resolve: Some(flat),
                        },
                    };
                    let clear = rng.below(2) == 0;
                    self.canvases
                        .push(gpu.canvas(&brush, targets, dynamic, clear)?);
                }
            }
        }
        Ok(())
    }

    /// Gives all images their layout and content.
    pub fn prepare(&self, recorder: &Recorder<'_>) {
        let all = || self.images.iter().chain([&self.samples]);
        for image in all() {
            recorder.prepare(image);
        }
        recorder.barrier_all();
        for image in all() {
            recorder.clear(image, Part { level: 0, layer: 0 }, true, 0);
        }
        recorder.barrier_all();
    }

    /// Whether the memory of buffers is this image's, too.
    fn is_aliased(&self, image: usize) -> bool {
        self.aliased == Some(image)
    }

    /// A command; None where the draw can't be had. `names` gets the buffers that it names.
    pub fn draw(&self, rng: &mut Rng, world: &World, names: &mut Vec<u64>) -> Option<Paint> {
        match rng.below(12) {
            0 | 1 => {
                let image = rng.below(SHAPES.len() + 1);
                let image = (image < SHAPES.len()).then_some(image);
                Some(Paint::Clear {
                    image,
                    part: part(rng, image.map_or(SAMPLES, |image| SHAPES[image])),
                    rest: rng.below(2) == 0,
                    value: rng.word(),
                })
            }
            2 | 3 => self.load(rng, world, names),
            4 | 5 => self.store(rng, world, names),
            6 => {
                // Words may be copied to colors, and colors to words.
                let all = [0, 1, STORAGE];
                let (from, to) = (all[rng.below(3)], all[rng.below(3)]);
                let (from, to) = match rng.below(4) {
                    0 => (DEPTHS, DEPTHS),
                    _ => (from, to),
                };
                Self::between(rng, from, to).map(|(from, to)| Paint::Copy(from, to))
            }
            7 => {
                let (from, to) = (rng.below(COLORS), rng.below(COLORS));
                Self::between(rng, from, to).map(|(from, to)| Paint::Blit(from, to))
            }
            8 => Some(Paint::Resolve {
                target: rng.below(COLORS),
                layer: rng.below(COLOR.layers as usize) as u32,
            }),
            _ => {
                // From -0.5 to 0.5, or from 0 to 1.
                let mut triangle = || {
                    let mut share = || rng.word() as f32 / u32::MAX as f32;
                    [share() - 0.5, share() - 0.5, share(), share()]
                };
                let mut triangles: Vec<_> = (0..TRIANGLES_MAX).map(|_| triangle()).collect();
                triangles.truncate(rng.below(TRIANGLES_MAX + 1));
                Some(Paint::Draw {
                    canvas: rng.below(self.canvases.len()),
                    shade: rng.word() as f32 / u32::MAX as f32,
                    triangles,
                })
            }
        }
    }

    /// Different parts of two images; None if they would be the same.
    fn between(rng: &mut Rng, from: usize, to: usize) -> Option<(Place, Place)> {
        let source = (from, part(rng, SHAPES[from]));
        let target = (to, part(rng, SHAPES[to]));
        (source != target).then_some((source, target))
    }

    /// A rectangle of a part of an image that fits into a buffer.
    fn window(rng: &mut Rng, image: usize, buffer: &Buffer) -> Option<Window> {
        let shape = SHAPES[image];
        let part = part(rng, shape);
        let side = shape.side >> part.level;
        let row = side + rng.below(9) as u32;
        let rows = (buffer.size() / TEXEL / u64::from(row)).min(u64::from(side)) as usize;
        if rows == 0 {
            return None;
        }
        let (width, height) = match rng.below(3) {
            0 => (side, rows as u32),
            _ => (
                1 + rng.below(side as usize) as u32,
                1 + rng.below(rows) as u32,
            ),
        };
        let room = buffer.size() / TEXEL - u64::from(row) * u64::from(height);
        Some(Window {
            part,
            at: [
                rng.below((side - width) as usize + 1) as u32,
                rng.below((side - height) as usize + 1) as u32,
            ],
            size: [width, height],
            offset: TEXEL * rng.below(room as usize + 1) as u64,
            row,
        })
    }

    /// A buffer that doesn't lie on the image, one in four host-visible.
    fn buffer(
        &self,
        rng: &mut Rng,
        world: &World,
        names: &mut Vec<u64>,
        image: usize,
        visible: &Rc<Buffer>,
    ) -> Rc<Buffer> {
        if rng.below(4) == 0 {
            return visible.clone();
        }
        let apart = !self.is_aliased(image);
        let fitting: Vec<_> = world
            .items
            .iter()
            .filter(|item| item.transfer && (apart || !world.is_aliased(item)))
            .collect();
        // Buffers alone in their memory can all be copied.
        let item = fitting[rng.below(fitting.len())];
        names.push(item.uid);
        item.buffer.clone()
    }

    fn load(&self, rng: &mut Rng, world: &World, names: &mut Vec<u64>) -> Option<Paint> {
        // Depths have to be numbers from 0 to 1, which buffers don't hold.
        let target = [0, 1, STORAGE][rng.below(3)];
        let source = self.buffer(rng, world, names, target, &world.upload);
        let window = Self::window(rng, target, &source)?;
        Some(Paint::Load {
            source,
            target,
            window,
        })
    }

    fn store(&self, rng: &mut Rng, world: &World, names: &mut Vec<u64>) -> Option<Paint> {
        let source = rng.below(SHAPES.len());
        let target = self.buffer(rng, world, names, source, &world.readback);
        let window = Self::window(rng, source, &target)?;
        Some(Paint::Store {
            source,
            target,
            window,
        })
    }

    /// Records what was drawn.
    pub fn record(&self, recorder: &Recorder<'_>, paint: &Paint) {
        let image = |number: usize| &*self.images[number];
        match paint {
            Paint::Clear {
                image: number,
                part,
                rest,
                value,
            } => {
                let image = number.map_or(&*self.samples, image);
                recorder.clear(image, *part, *rest, *value);
            }
            Paint::Load {
                source,
                target,
                window,
            } => recorder.load(source, image(*target), *window),
            Paint::Store {
                source,
                target,
                window,
            } => recorder.store(image(*source), target, *window),
            Paint::Copy((source, from), (target, to)) => {
                recorder.copy_image((image(*source), *from), (image(*target), *to));
            }
            Paint::Blit((source, from), (target, to)) => {
                recorder.blit((image(*source), *from), (image(*target), *to));
            }
            Paint::Resolve { target, layer } => {
                recorder.resolve(&self.samples, (image(*target), *layer));
            }
            Paint::Draw {
                canvas,
                shade,
                triangles,
            } => recorder.paint(&self.canvases[*canvas], *shade, triangles),
        }
    }
}
