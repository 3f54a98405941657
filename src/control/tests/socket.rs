//! Server and client over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hesper_control::{
    ControlClient, ControlError, ControlServer, EVENT_QUEUE_LEN, Handler, MAX_ANSWER_LEN,
    MAX_CLIENTS, MAX_REQUEST_LEN,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(10);

fn handler() -> Handler {
    Arc::new(|request| match request.command.as_str() {
        "echo" => Ok(Value::Object(request.args.clone())),
        "wait" => {
            let file = request.args["for"].as_str().unwrap();
            wait_until("file to wait for", || Path::new(file).exists());
            Ok(json!("waited"))
        }
        "long" => Ok("x".repeat(MAX_ANSWER_LEN).into()),
        "panic" => panic!("asked for"),
        other => Err(format!("Unknown command {other}")),
    })
}

fn server() -> (TempDir, PathBuf, ControlServer) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let server = ControlServer::bind(&path, handler()).unwrap();
    (dir, path, server)
}

fn client(path: &Path) -> ControlClient {
    ControlClient::connect(path, TIMEOUT).unwrap()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < TIMEOUT, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn call_returns_what_the_handler_says() {
    let (_dir, path, _server) = server();
    let mut client = client(&path);
    let args = json!({"ctx": 3, "deep": {"list": [1, null, "é\n"]}});
    assert_eq!(client.call("echo", args.clone()).unwrap(), args);
    assert_eq!(client.call("echo", Value::Null).unwrap(), json!({}));
    match client.call("nonsense", json!({})) {
        Err(ControlError::Refused(text)) => assert_eq!(text, "Unknown command nonsense"),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        client.call("echo", json!({"still": "open"})).unwrap()["still"],
        "open"
    );
}

#[test]
fn lines_on_the_wire_are_those_of_the_protocol() {
    let (_dir, path, server) = server();
    let mut stream = UnixStream::connect(&path).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    stream
        .write_all(b"{\"id\":7,\"command\":\"echo\",\"a\":1}\n{\"id\":8,")
        .unwrap();
    assert_eq!(next(), json!({"id": 7, "ok": {"a": 1}}));
    stream
        .write_all(b"\"command\":\"x\"}\nnonsense\n[]\n")
        .unwrap();
    assert_eq!(next(), json!({"id": 8, "error": "Unknown command x"}));
    for _ in 0..2 {
        let refused = next();
        assert_eq!(refused["id"], 0);
        assert!(
            refused["error"]
                .as_str()
                .unwrap()
                .starts_with("Not a request")
        );
    }
    stream
        .write_all(b"{\"id\":9,\"command\":\"watch\"}\n")
        .unwrap();
    assert_eq!(next(), json!({"id": 9, "ok": {}}));
    server.broadcast(json!({"epoch": 4}));
    assert_eq!(next(), json!({"event": {"epoch": 4}}));
}

#[test]
fn client_that_shuts_its_writing_side_still_gets_its_answer() {
    let (dir, path, _server) = server();
    let file = dir.path().join("go");
    let mut stream = UnixStream::connect(&path).unwrap();
    writeln!(
        stream,
        "{}",
        json!({"id": 1, "command": "wait", "for": file})
    )
    .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    std::fs::write(&file, "").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, "{\"id\":1,\"ok\":\"waited\"}\n");
}

#[test]
fn socket_belongs_to_its_owner_only() {
    let (_dir, path, _server) = server();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
}

/// Run by the next test as another user: connects and says what it got.
#[test]
fn connect_as_another_user() {
    let Some(path) = std::env::var_os("HESPER_TEST_CONTROL_SOCKET") else {
        return;
    };
    let answer = ControlClient::connect(Path::new(&path), TIMEOUT)
        .and_then(|mut client| client.call("echo", Value::Null));
    println!("ANSWER {answer:?}");
}

#[test]
fn another_user_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        println!("SKIPPED: only root can act as another user");
        return;
    }
    let (dir, path, _server) = server();
    let program = dir.path().join("test-program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let open = |path: &Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    };
    open(dir.path());
    open(&program);
    let ask = || {
        use std::os::unix::process::CommandExt;
        let output = Command::new(&program)
            .args(["--exact", "connect_as_another_user", "--nocapture"])
            .env("HESPER_TEST_CONTROL_SOCKET", &path)
            .current_dir("/")
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let by_mode = ask();
    assert!(by_mode.contains("ANSWER Err(Connect"), "{by_mode}");
    // Past the mode, the server looks who it is.
    open(&path);
    let by_uid = ask();
    assert!(
        by_uid.contains("ANSWER Err(Refused(\"Only the owner"),
        "{by_uid}"
    );
}

#[test]
fn every_watcher_gets_every_event_in_order() {
    let (_dir, path, server) = server();
    let watchers: Vec<_> = (0..3).map(|_| client(&path).watch().unwrap()).collect();
    let mut bystander = client(&path);
    for i in 0..100 {
        server.broadcast(json!({ "n": i }));
    }
    for watcher in watchers {
        let seen: Vec<u64> = watcher
            .take(100)
            .map(|e| e.unwrap()["n"].as_u64().unwrap())
            .collect();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }
    assert_eq!(bystander.call("echo", Value::Null).unwrap(), json!({}));
}

#[test]
fn event_between_call_and_answer_does_not_disturb() {
    let (dir, path, server) = server();
    let file = dir.path().join("go");
    let mut client = client(&path);
    client.call("watch", Value::Null).unwrap();
    // On its way before the call's answer can be.
    server.broadcast(json!("in between"));
    std::fs::write(&file, "").unwrap();
    assert_eq!(
        client.call("wait", json!({ "for": file })).unwrap(),
        "waited"
    );
}

#[test]
fn slow_watcher_loses_its_connection_and_nobody_waits() {
    let (_dir, path, server) = server();
    let mut slow = client(&path).watch().unwrap();
    let mut quick = client(&path).watch().unwrap();
    let event = json!("x".repeat(16 << 10));
    let mut longest = Duration::ZERO;
    for _ in 0..EVENT_QUEUE_LEN * 3 {
        let start = Instant::now();
        server.broadcast(event.clone());
        longest = longest.max(start.elapsed());
        assert_eq!(quick.next().unwrap().unwrap(), event);
    }
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    let read = slow.by_ref().map_while(Result::ok).count();
    assert!(read < EVENT_QUEUE_LEN * 3, "all {read} events arrived");
    wait_until("slow watcher is gone", || server.client_count() == 1);
}

#[test]
fn watch_ends_with_its_server() {
    let (_dir, path, server) = server();
    let mut watch = client(&path).watch().unwrap();
    drop(server);
    assert!(watch.next().is_none());
    assert!(!path.exists());
    assert!(matches!(
        ControlClient::connect(&path, TIMEOUT),
        Err(ControlError::Connect { .. })
    ));
}

#[test]
fn quiet_watch_times_out_and_goes_on() {
    let (_dir, path, server) = server();
    let mut watch = client(&path).watch().unwrap();
    watch.set_timeout(Some(Duration::from_millis(20)));
    assert!(matches!(watch.next(), Some(Err(ControlError::TimedOut))));
    server.broadcast(json!(1));
    watch.set_timeout(Some(TIMEOUT));
    assert_eq!(watch.next().unwrap().unwrap(), 1);
}

#[test]
fn clients_past_the_limit_are_told_so_until_one_leaves() {
    let (_dir, path, server) = server();
    let mut clients: Vec<_> = (0..MAX_CLIENTS).map(|_| client(&path)).collect();
    for client in &mut clients {
        client.call("echo", Value::Null).unwrap();
    }
    match client(&path).call("echo", Value::Null) {
        Err(ControlError::Refused(text)) => assert_eq!(text, "Too many clients"),
        other => panic!("{other:?}"),
    }
    clients.pop();
    wait_until("a place is free", || server.client_count() < MAX_CLIENTS);
    client(&path).call("echo", Value::Null).unwrap();
}

#[test]
fn request_past_the_limit_is_refused_and_closes() {
    let (_dir, path, _server) = server();
    let frame = json!({"id": 1, "command": "echo", "a": ""})
        .to_string()
        .len();
    let fits = "x".repeat(MAX_REQUEST_LEN - frame);
    let mut connection = client(&path);
    assert_eq!(
        connection.call("echo", json!({"a": &fits})).unwrap()["a"],
        fits.as_str()
    );
    assert!(matches!(
        connection.call("echo", json!({"a": fits + "xx"})),
        Err(ControlError::TooLong { .. })
    ));
    // A client that doesn't keep to it: never ends its line.
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let _ = stream.write_all(&vec![b'x'; MAX_REQUEST_LEN + 4096]);
    let mut all = Vec::new();
    // Reset, as what it sent was not read to the end.
    let _ = stream.read_to_end(&mut all);
    let answer: Value = serde_json::from_slice(&all).unwrap();
    assert_eq!(
        answer,
        json!({"id": 0, "error": "Control line has more than 65536 bytes"})
    );
}

#[test]
fn answer_past_the_limit_becomes_an_error() {
    let (_dir, path, _server) = server();
    let mut client = client(&path);
    match client.call("long", Value::Null) {
        Err(ControlError::Refused(text)) => assert!(text.contains("longer than allowed"), "{text}"),
        other => panic!("{other:?}"),
    }
    client.call("echo", Value::Null).unwrap();
}

#[test]
fn slow_handler_holds_up_its_own_client_only() {
    let (dir, path, _server) = server();
    let file = dir.path().join("go");
    let mut slow = client(&path);
    slow.set_timeout(Duration::from_millis(50));
    assert!(matches!(
        slow.call("wait", json!({ "for": file })),
        Err(ControlError::TimedOut)
    ));
    client(&path).call("echo", Value::Null).unwrap();
    // The late answer is not taken for the next call's.
    std::fs::write(&file, "").unwrap();
    slow.set_timeout(TIMEOUT);
    assert_eq!(slow.call("echo", json!({"a": 2})).unwrap(), json!({"a": 2}));
}

#[test]
fn panic_in_the_handler_costs_one_connection() {
    let (_dir, path, server) = server();
    let mut victim = client(&path);
    assert!(matches!(
        victim.call("panic", Value::Null),
        Err(ControlError::Closed)
    ));
    wait_until("its place is free", || server.client_count() == 0);
    client(&path).call("echo", Value::Null).unwrap();
}

#[test]
fn bind_replaces_a_dead_socket_and_nothing_else() {
    let (dir, path, server) = server();
    assert!(matches!(
        ControlServer::bind(&path, handler()),
        Err(ControlError::InUse(_))
    ));
    client(&path).call("echo", Value::Null).unwrap();
    drop(server);

    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = ControlServer::bind(&path, handler()).unwrap();
    client(&path).call("echo", Value::Null).unwrap();
    drop(server);

    let file = dir.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(matches!(
        ControlServer::bind(&file, handler()),
        Err(ControlError::Bind { .. })
    ));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    assert!(ControlServer::bind(&dir.path().join("x".repeat(200)), handler()).is_err());
}

#[test]
fn drop_leaves_a_socket_of_somebody_else_alone() {
    let (_dir, path, server) = server();
    std::fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    drop(server);
    assert!(path.exists());
}

#[test]
fn arguments_that_would_hide_the_command_are_refused() {
    let (_dir, path, _server) = server();
    let mut client = client(&path);
    for args in [json!({"id": 1}), json!({"command": "x"}), json!([1])] {
        assert!(matches!(
            client.call("echo", args),
            Err(ControlError::Protocol(_))
        ));
    }
}
