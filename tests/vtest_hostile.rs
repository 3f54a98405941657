//! Clients that break the vtest protocol, or Venus inside of it: each loses its own connection, hesperd and everyone else
//! go on, and nothing is left behind.

mod common;
#[macro_use]
mod raw;

use std::time::{Duration, Instant};

use ash::vk::{self, Handle};
use hesper_venus::Command;

use common::{Client, Hesperd, Random, Ring, execute_streams, set_reply_stream, wait_ring_seqno};

const RES_UNREF: u32 = 3;
const CREATE_RENDERER: u32 = 8;
const PROTOCOL_VERSION: u32 = 11;
const GET_CAPSET: u32 = 16;
const CONTEXT_INIT: u32 = 17;
const CREATE_BLOB: u32 = 18;
const SYNC_UNREF: u32 = 20;
const SYNC_READ: u32 = 21;
const SYNC_WRITE: u32 = 22;
const SYNC_WAIT: u32 = 23;
const SUBMIT_CMD2: u32 = 24;

/// Resident bytes that hesperd may hold more after hostile clients than before: the allocator's arenas.
const GROWTH_MAX: u64 = 24 << 20;

/// Log lines of one kind that are in full.
const LOGGED_MAX: usize = 10;

type Attack = (&'static str, fn(&mut Client));

/// Runs attacks that must each cost their client the connection, with a client that goes on all the while, and checks that
/// everything is given back and each error told once.
fn each_loses_its_connection(attacks: &[Attack]) {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    hesperd.client().context().works();
    let before = hesperd.settled();
    let mut other = hesperd.client().context();
    for (at, (name, attack)) in attacks.iter().enumerate() {
        let told = hesperd.warnings();
        let mut client = hesperd.client();

        attack(&mut client);

        assert!(client.is_closed(), "{name}: still connected");
        other.works();
        let told = hesperd.warnings() - told;
        // The front tells that a context is lost, the server that the client goes: each of the first ones.
        let least = usize::from(at < LOGGED_MAX);
        assert!((least..=2).contains(&told), "{name}: told {told} times");
    }
    drop(other);
    let after = hesperd.settled();
    assert_eq!(after.descriptors, before.descriptors, "descriptors");
    assert!(
        after.resident <= before.resident + GROWTH_MAX,
        "{} bytes, {} before",
        after.resident,
        before.resident
    );
}

#[test]
fn requests_out_of_the_protocol_end_their_client() {
    each_loses_its_connection(&[
        ("a body of 4 Gi dwords", |client| {
            client.send(&[u32::MAX, GET_CAPSET])
        }),
        ("a renderer's name of 4 GiB", |client| {
            client.send(&[u32::MAX, CREATE_RENDERER]);
        }),
        ("an unknown request", |client| {
            client.request(99, &[1, 2, 3])
        }),
        ("a body that is too short", |client| {
            client.request(PROTOCOL_VERSION, &[])
        }),
        ("another kind of context", |client| {
            client.request(CONTEXT_INIT, &[1])
        }),
        ("a second context", |client| {
            client.request(CONTEXT_INIT, &[4]);
            client.request(CONTEXT_INIT, &[4]);
        }),
        ("a blob without a context", |client| {
            client.blob_request(0, 4096)
        }),
        ("commands without a context", |client| {
            client.submit(&[1, 2, 3, 4])
        }),
        ("a sync that is unknown is read", |client| {
            client.request(SYNC_READ, &[77])
        }),
        ("a sync that is unknown is written", |client| {
            client.request(SYNC_WRITE, &[77, 1, 0]);
        }),
        ("a sync that is unknown is dropped", |client| {
            client.request(SYNC_UNREF, &[77])
        }),
        ("a wait for a part of a sync", |client| {
            // Two dwords of a triple: not a wait for anything, and then nonsense.
            client.request(SYNC_WAIT, &[0]);
            client.request(SYNC_UNREF, &[77]);
        }),
        ("a resource that is unknown is dropped", |client| {
            client.context_request();
            client.request(RES_UNREF, &[123_456]);
        }),
        ("a resource is dropped twice", |client| {
            client.context_request();
            let (id, _) = client.blob(0, 4096);
            client.request(RES_UNREF, &[id]);
            client.request(RES_UNREF, &[id]);
        }),
        ("a blob of the guest's", |client| {
            client.context_request();
            client.request(CREATE_BLOB, &[1, 0, 4096, 0, 0, 0]);
        }),
        ("a blob of no length", |client| {
            client.context_request();
            client.blob_request(0, 0);
        }),
        ("a blob of every length", |client| {
            client.context_request();
            client.blob_request(0, u64::MAX);
        }),
        ("a blob of more than a file can be", |client| {
            client.context_request();
            client.blob_request(0, 1 << 63);
        }),
        ("a blob of memory that is unknown", |client| {
            client.context_request();
            client.blob_request(0x1234, 4096);
        }),
        ("batches by the billion", |client| {
            client.context_request();
            client.request(SUBMIT_CMD2, &[u32::MAX, 0, 7, 0, 0, 0, 0]);
        }),
        ("batch headers of an odd size", |client| {
            client.context_request();
            client.request(SUBMIT_CMD2, &[1, 0, 4, 0, 0, 0, 0]);
        }),
        ("commands out of the request", |client| {
            client.context_request();
            client.request(SUBMIT_CMD2, &[1, 0, 7, 1000, 0, 0, 0]);
        }),
        ("commands beyond every address", |client| {
            client.context_request();
            client.request(SUBMIT_CMD2, &[1, 0, 7, u32::MAX, 0, 0, 0]);
        }),
        ("syncs out of the request", |client| {
            client.context_request();
            client.request(SUBMIT_CMD2, &[1, 0, 7, 0, 7, u32::MAX, 0]);
        }),
        ("a fence for a sync that is unknown", |client| {
            client.context_request();
            client.request(SUBMIT_CMD2, &[1, 0, 7, 0, 7, 1, 0, 55, 1, 0]);
        }),
    ]);
}

#[test]
fn broken_requests_leave_nothing_behind() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    hesperd.client().context().works();
    let before = hesperd.settled();

    // Connections that end inside of a header, inside of a body, and with answers unread.
    for len in 0..8 {
        hesperd.client().send_bytes(&vec![0xff; len]);
    }
    hesperd.client().send(&[100, GET_CAPSET, 1, 2]);
    let mut client = hesperd.client();
    for _ in 0..100 {
        client.request(GET_CAPSET, &[4, 0]);
    }
    drop(client);

    assert_eq!(hesperd.settled().descriptors, before.descriptors);
    hesperd.client().context().works();
}

#[test]
fn streams_that_are_no_commands_end_their_client() {
    each_loses_its_connection(&[
        ("zeros", |client| {
            client.context_request();
            client.submit(&[0; 64]);
        }),
        ("a command that is unknown", |client| {
            client.context_request();
            client.submit(&[9999, 0]);
        }),
        ("half a command", |client| {
            client.context_request();
            client.submit(&[188, 0, 1]);
        }),
        ("noise", |client| {
            client.context_request();
            let mut random = Random(7);
            for _ in 0..16 {
                let words: Vec<_> = (0..256).map(|_| random.word()).collect();
                client.submit(&words);
            }
        }),
        ("known commands with noise in them", |client| {
            client.context_request();
            let mut random = Random(8);
            for id in 0..255 {
                let mut words = vec![id, random.word() & 1];
                words.extend((0..60).map(|_| random.word() % 5));
                client.submit(&words);
            }
        }),
        ("streams out of a resource that is unknown", |client| {
            client.context_request();
            client.submit(&execute_streams(&[(4711, 0, 64)]));
        }),
        ("streams out of their resource", |client| {
            client.context_request();
            let (id, _) = client.blob(0, 4096);
            client.submit(&execute_streams(&[(id, 4000, 200)]));
        }),
        ("streams that wrap around", |client| {
            client.context_request();
            let (id, _) = client.blob(0, 4096);
            client.submit(&execute_streams(&[(id, u64::MAX - 8, 64)]));
        }),
        ("streams within streams", |client| {
            client.context_request();
            let (id, memory) = client.blob(0, 4096);
            let inner = execute_streams(&[(id, 0, 1024)]);
            let bytes: Vec<u8> = inner.iter().flat_map(|w| w.to_le_bytes()).collect();
            memory.write(0, &bytes).unwrap();
            client.submit(&execute_streams(&[(id, 0, bytes.len() as u64)]));
        }),
    ]);
}

/// No hostility at all: the resource was made before the ring names it, though the message that attaches it and the ring
/// take different ways to the worker.
#[test]
fn blob_named_by_a_ring_at_once_is_known() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    let mut client = hesperd.client();
    let (_, ring) = client.ring();
    let mut tail = 0;
    for _ in 0..3000 {
        let (id, _) = client.blob(0, 4096);
        tail = common::queue(&ring, tail, &set_reply_stream(id, 4096));
        assert!(common::reaches(&ring, tail), "the worker is gone");
        client.request(RES_UNREF, &[id]);
    }
    client.works();
}

#[test]
fn rings_that_cannot_be_end_their_client() {
    each_loses_its_connection(&[
        ("a resource that is unknown", |client| {
            bad_ring(client, |ring| ring.resource = 4711)
        }),
        ("a ring beyond its resource", |client| {
            bad_ring(client, |ring| ring.size = 1 << 40)
        }),
        ("a ring that wraps around", |client| {
            bad_ring(client, |ring| ring.offset = u64::MAX - 64);
        }),
        ("a head beyond every address", |client| {
            bad_ring(client, |ring| ring.head = u64::MAX)
        }),
        ("a tail outside", |client| {
            bad_ring(client, |ring| ring.tail = 1 << 20)
        }),
        ("a status that is not aligned", |client| {
            bad_ring(client, |ring| ring.status = 129)
        }),
        ("parts that overlap", |client| {
            bad_ring(client, |ring| ring.tail = ring.head)
        }),
        ("a buffer of no length", |client| {
            bad_ring(client, |ring| ring.buffer_size = 0)
        }),
        ("a buffer of an odd length", |client| {
            bad_ring(client, |ring| ring.buffer_size = 48)
        }),
        ("an extra area outside", |client| {
            bad_ring(client, |ring| ring.extra_size = 1 << 33)
        }),
        ("one ring twice", |client| {
            let (ring, _) = client.ring();
            client.submit(&ring.create());
        }),
        ("a tail far ahead", |client| {
            let (_, memory) = client.ring();
            common::store(&memory, Ring::TAIL, 0x8000_0000);
        }),
        ("a tail that goes back", |client| {
            let (_, memory) = client.ring();
            common::store(&memory, Ring::TAIL, u32::MAX);
        }),
        ("noise in a ring", |client| {
            let (_, memory) = client.ring();
            let mut random = Random(9);
            let noise: Vec<u8> = (0..512).map(|_| random.word() as u8).collect();
            memory.write(Ring::BUFFER, &noise).unwrap();
            common::store(&memory, Ring::TAIL, 512);
        }),
    ]);
}

fn bad_ring(client: &mut Client, spoil: fn(&mut Ring)) {
    client.context_request();
    let (resource, _) = client.blob(0, 8192);
    let mut ring = Ring::of(resource);
    spoil(&mut ring);
    client.submit(&ring.create());
}

/// What hostile clients can have logged is little, whatever they do and however often they come back.
#[test]
fn log_of_hostile_clients_is_limited() {
    const TIMES: usize = 2000;
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    // Nonsense in place of a request.
    for _ in 0..TIMES {
        let mut client = hesperd.client();
        client.request(99, &[]);
        client.is_closed();
    }
    // Errors that are answered, and then one that ends the context, whose worker goes with it.
    let refused = refused_devices(TIMES / 10);
    for _ in 0..2 * LOGGED_MAX {
        let mut client = hesperd.client().context();
        client.submit(&refused);
        client.submit(&[9999, 0]);
        assert!(client.is_closed());
    }
    // More clients than there may be, until all have been seen: the last ones are turned away.
    let mut crowd: Vec<_> = (0..TIMES / 10).map(|_| hesperd.client()).collect();
    assert!(crowd.pop().is_some_and(|mut last| last.is_closed()));
    drop(crowd);
    hesperd.settled();

    for kind in [
        "Client ends",
        "No device",
        "Context lost",
        "Too many clients",
    ] {
        let lines = hesperd.logged(kind);
        // One more when the minute is over.
        assert!((1..=LOGGED_MAX + 1).contains(&lines), "{kind}: {lines}");
    }
    let lines = hesperd.warnings();
    assert!(lines <= 5 * LOGGED_MAX, "{lines} lines");
}

/// Commands that make an instance, and then ask for so many devices with an extension that there is none of.
fn refused_devices(times: usize) -> Vec<u32> {
    let mut bytes = Vec::new();
    let mut add = |command: &Command<'_>| bytes.extend(raw::encode(command, false));
    let info = vk::InstanceCreateInfo::default();
    let mut instance = vk::Instance::from_raw(1);
    add(&command!(VkCreateInstance {
        p_create_info: &info,
        p_allocator: std::ptr::null(),
        p_instance: &mut instance,
        ret: vk::Result::SUCCESS,
    }));
    let mut physical_device = vk::PhysicalDevice::from_raw(2);
    add(&command!(VkEnumeratePhysicalDevices {
        instance,
        p_physical_device_count: &mut 1,
        p_physical_devices: &mut physical_device,
        ret: vk::Result::SUCCESS,
    }));
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
    let names = [c"VK_HESPER_none".as_ptr()];
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&names);
    for _ in 0..times {
        add(&command!(VkCreateDevice {
            physical_device,
            p_create_info: (&raw const info).cast(),
            p_allocator: std::ptr::null(),
            p_device: &mut vk::Device::from_raw(3),
            ret: vk::Result::SUCCESS,
        }));
    }
    let words = bytes.chunks_exact(4);
    words
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect()
}

#[test]
fn blobs_by_the_thousand_disturb_nobody_and_go_with_their_client() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    hesperd.client().context().works();
    let before = hesperd.settled();
    let mut other = hesperd.client().context();

    let mut hoarder = hesperd.client().context();
    for _ in 0..5000 {
        if !hoarder.try_blob(4096) {
            break;
        }
    }
    hesperd.client().context().works();
    other.works();
    drop((hoarder, other));

    assert_eq!(hesperd.settled().descriptors, before.descriptors);
}

#[test]
fn waits_given_up_by_the_thousand_are_forgotten() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    let mut client = hesperd.client().context();
    let sync = client.sync(0);
    for _ in 0..3000 {
        // Its descriptor is closed at once.
        drop(client.wait(&[(sync, 1)]));
    }

    let held = hesperd.usage().descriptors;
    let event = client.wait(&[(sync, 1)]);
    client.request(SYNC_WRITE, &[sync, 1, 0]);

    assert!(common::becomes_readable(&event, Duration::from_secs(10)));
    assert!(held < 600, "{held} descriptors");
    hesperd.client().context().works();
}

#[test]
fn submissions_behind_one_that_never_ends_are_limited() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    let mut other = hesperd.client().context();
    let mut client = hesperd.client();
    let (ring, _) = client.ring();
    // The ring never gets that far, so everything after this waits.
    client.submit(&wait_ring_seqno(ring.id, 1_000_000));
    let filler = vec![0; 200_000];
    let started = Instant::now();
    let mut sent = 0;
    while started.elapsed() < Duration::from_secs(20) && sent < 2000 {
        if !client.try_submit(&filler) {
            break;
        }
        sent += 1;
    }

    let closed = client.is_closed();
    println!("{sent} submissions of 800 kB until the end");
    assert!(closed && sent < 1000, "{sent} submissions are kept");
    other.works();
}

#[test]
fn connections_beyond_the_limit_are_turned_away_and_none_is_lost_for_it() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    let mut other = hesperd.client().context();
    let crowd: Vec<_> = (0..200).map(|_| hesperd.client()).collect();
    let refused = crowd.into_iter().filter_map(|mut client| {
        client.set_timeout(Duration::from_millis(100));
        client.is_closed().then_some(())
    });
    assert!(refused.count() > 100);

    other.works();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !hesperd.client().answers() {
        assert!(Instant::now() < deadline, "no room after the crowd went");
        std::thread::sleep(Duration::from_millis(50));
    }
    hesperd.client().context().works();
}

#[test]
fn hesperd_without_descriptors_goes_on_once_there_are_some() {
    let Some(hesperd) = Hesperd::start(&[]) else {
        return;
    };
    let mut other = hesperd.client().context();
    other.works();
    let used = hesperd.usage().descriptors as u64;
    hesperd.limit_descriptors(used + 3);

    let mut crowd: Vec<_> = (0..20).map(|_| hesperd.client()).collect();
    for client in &mut crowd {
        client.set_timeout(Duration::from_millis(100));
        client.answers();
    }
    other.works_without_descriptors();
    drop(crowd);
    hesperd.limit_descriptors(1024);

    let deadline = Instant::now() + Duration::from_secs(20);
    while !hesperd.client().answers() {
        assert!(Instant::now() < deadline, "hesperd is gone or stuck");
        std::thread::sleep(Duration::from_millis(50));
    }
    hesperd.client().context().works();
}

#[test]
fn shared_memory_past_the_quota_is_refused_until_some_is_given_back() {
    let Some(hesperd) = Hesperd::start(&["--host-memory-max", "64"]) else {
        return;
    };
    let mut holder = hesperd.client().context();
    let (id, _) = holder.blob(0, 48 << 20);

    let mut greedy = hesperd.client().context();
    greedy.blob_request(0, 48 << 20);
    assert!(greedy.is_closed(), "48 MiB of the 16 that are left");
    holder.works();

    holder.request(RES_UNREF, &[id]);
    // In order: it is dropped before this is answered.
    holder.works();
    let mut next = hesperd.client().context();
    next.blob(0, 48 << 20);
    next.works();
    // With its client, a blob counts no more; that it goes takes a moment.
    drop(next);
    let started = Instant::now();
    while !hesperd.client().context().try_blob(60 << 20) {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    holder.works();
}

#[test]
fn context_past_the_quota_is_refused_until_one_ends() {
    let Some(hesperd) = Hesperd::start(&["--contexts-max", "1"]) else {
        return;
    };
    let mut first = hesperd.client().context();
    first.works();

    let mut second = hesperd.client();
    second.context_request();
    assert!(second.is_closed());
    first.works();

    drop(first);
    hesperd.settled();
    hesperd.client().context().works();
}
