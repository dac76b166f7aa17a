//! Old and new connections after a restart, a kill and a stop.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::scene::{Load, Scene, Server, load, missing, stays, until, wait};
use crate::scene_or_skip;

/// A loaded connection of four subflows, three of which marks have suppressed. The marks go on.
fn suppressed(scene: &Scene, server: &Server) -> Load {
    let load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    scene.mark(true);
    until("suppression", || backups(scene) == 3);
    load
}

fn backups(scene: &Scene) -> usize {
    scene.subflows().iter().filter(|s| s.subflow.backup).count()
}

/// The setting has the same name as before, but the program that it stands for is another.
#[test]
fn after_a_kill_new_sockets_get_the_new_program() {
    let scene = scene_or_skip!("after_a_kill_new_sockets_get_the_new_program");
    let daemon = scene.daemon("subflows.join_after = \"64KB\"");
    daemon.kill();
    let _daemon = scene.daemon("subflows.join_after = \"100MB\"");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("its bytes arrive", || server.read() == 1_000_000);
    let status = scene.status();
    let client = status.connections.iter().find(|c| c.role == "client").unwrap();
    assert_eq!(client.algorithm.as_deref(), Some("weft_amp"));
    // After the new number of bytes, not the old one.
    stays("one subflow", Duration::from_millis(500), || {
        scene.subflows().len() == 1
    });
}

#[test]
fn a_stop_leaves_suppressed_what_is_suppressed_and_the_next_start_goes_on() {
    let scene = scene_or_skip!("a_stop_leaves_suppressed_what_is_suppressed_and_the_next_start_goes_on");
    let daemon = scene.daemon("");
    let server = scene.serve();
    let _load = suppressed(&scene, &server);
    daemon.stop();
    assert_eq!(backups(&scene), 3);
    let stopped = server.read();
    until("it goes on", || server.read() > stopped + 1_000_000);
    let daemon = scene.daemon("");
    until("it finds both ends", || scene.status().connections.len() == 2);
    // Longer than `release_after` and `min_cycle` together.
    stays("suppression", Duration::from_millis(700), || backups(&scene) == 3);
    scene.mark(false);
    until("release", || backups(&scene) == 0);
    daemon.stop();
}

#[test]
fn a_reload_takes_the_configuration_and_leaves_connections_and_names() {
    let scene = scene_or_skip!("a_reload_takes_the_configuration_and_leaves_connections_and_names");
    let daemon = scene.daemon("");
    let server = scene.serve();
    let _load = suppressed(&scene, &server);
    // A configuration that is not understood changes nothing.
    let before = scene.status();
    scene.configure("subflow.count = 2");
    daemon.reload();
    until("the refusal", || daemon.has_logged("not reloaded"));
    assert!(scene.status().uptime_s >= before.uptime_s);

    scene.configure("subflows.count = 2");
    scene.reload(&daemon);
    assert_eq!(scene.status().process, before.process);
    assert_eq!(backups(&scene), 3);
    let available = scene.setting("net.ipv4.tcp_available_congestion_control");
    assert!(available.contains("weft_amp"), "{available}");
    scene.mark(false);
    until("release", || backups(&scene) == 0);
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("one join", || scene.subflows().len() == 4 + 2);
    stays("one join", Duration::from_millis(500), || {
        scene.subflows().len() == 4 + 2
    });
    let subflows = scene.subflows();
    assert!(
        subflows.iter().all(|s| s.congestion == "weft_amp"),
        "{subflows:#?}"
    );
    daemon.stop();
}

/// The programs of the next weftd take the place of the last one's, and the name stays.
#[test]
fn the_names_are_registered_throughout_reloads() {
    let scene = scene_or_skip!("the_names_are_registered_throughout_reloads");
    let daemon = scene.daemon("");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let choosing = spawn(move || {
        let (mut tries, mut refused) = (0_u64, 0_u64);
        while !stopped.load(Ordering::Relaxed) {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
            tries += 1;
            refused += u64::from(socket.set_tcp_congestion(b"weft_amp").is_err());
        }
        (tries, refused)
    });
    for _ in 0..3 {
        scene.reload(&daemon);
    }
    stop.store(true, Ordering::Relaxed);
    let (tries, refused) = choosing.join().unwrap();
    assert!(tries > 1000, "{tries}");
    assert_eq!(refused, 0, "of {tries}");
    daemon.stop();
    let available = scene.setting("net.ipv4.tcp_available_congestion_control");
    assert!(!available.contains("weft_"), "{available}");
}

/// The check passes, so that only the successor itself finds out.
#[test]
fn where_the_next_program_cannot_begin_the_one_before_goes_on_as_it_was() {
    let scene = scene_or_skip!("where_the_next_program_cannot_begin_the_one_before_goes_on_as_it_was");
    let program = scene.install();
    let daemon = scene.daemon_at(&program, "");
    let server = scene.serve();
    let _load = suppressed(&scene, &server);

    scene.install_script(
        "#!/bin/sh\ncase \"$*\" in *--check*) exit 0;; esac\necho it cannot begin >&2\nexit 1\n",
    );
    scene.configure("subflows.count = 2");
    scene.reload(&daemon);
    assert!(daemon.program().ends_with("(deleted)"), "{}", daemon.program());
    assert_eq!(backups(&scene), 3);
    let available = scene.setting("net.ipv4.tcp_available_congestion_control");
    assert!(available.contains("weft_amp"), "{available}");
    scene.mark(false);
    until("release", || backups(&scene) == 0);
    // As it was configured before.
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("three joins more", || scene.subflows().len() == 4 + 4);

    drop(stream);
    until("one connection", || scene.subflows().len() == 4);
    scene.install();
    scene.reload(&daemon);
    assert_eq!(daemon.program(), program.to_string_lossy());
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("one join", || scene.subflows().len() == 4 + 2);
    daemon.stop();
}

/// It passes the check, begins, serves for two seconds and crashes.
#[test]
fn a_successor_that_crashes_soon_after_its_start_is_rolled_back() {
    let scene = scene_or_skip!("a_successor_that_crashes_soon_after_its_start_is_rolled_back");
    let program = scene.install();
    let daemon = scene.daemon_at(&program, "");
    let server = scene.serve();
    let _load = suppressed(&scene, &server);

    let weftd = env!("CARGO_BIN_EXE_weftd");
    let crash = program.with_extension("crash");
    // It crashes when it runs, however long it takes to begin.
    scene.install_script(&format!(
        "#!/bin/sh\ncase \"$*\" in *--check*) exit 0;; esac\n\
         (for i in $(seq 600); do sleep 0.1; [ ! -e {} ] || break; done; kill -ABRT $$) &\nexec {weftd} \"$@\"\n",
        crash.display()
    ));
    scene.configure("subflows.count = 2");
    let began = Instant::now();
    daemon.reload();
    let process = || scene.try_status().map(|status| status.process);
    until("the successor runs", || {
        process().is_some_and(|process| process != daemon.process())
    });
    std::fs::write(&crash, "").unwrap();
    let named = || {
        let available = scene.setting("net.ipv4.tcp_available_congestion_control");
        available.contains("weft_amp")
    };
    until("the one before runs again", || {
        assert!(named(), "after {:?}", began.elapsed());
        process() == Some(daemon.process())
    });
    assert!(daemon.program().ends_with("(deleted)"), "{}", daemon.program());
    assert_eq!(backups(&scene), 3);
    scene.mark(false);
    until("release", || backups(&scene) == 0);
    // As it was configured before.
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("three joins more", || scene.subflows().len() == 4 + 4);
    daemon.stop();
    assert!(!named());
}

#[test]
fn a_stop_during_a_reload_stops_both() {
    let scene = scene_or_skip!("a_stop_during_a_reload_stops_both");
    let before = scene.setting("net.ipv4.tcp_congestion_control");
    let daemon = scene.daemon("");
    daemon.reload();
    until("the successor is on trial", || {
        scene
            .try_status()
            .is_some_and(|status| status.process != daemon.process())
    });
    daemon.stop();
    assert!(scene.try_status().is_none());
    assert_eq!(scene.setting("net.ipv4.tcp_congestion_control"), before);
    // The next one starts, though the kernel may not have taken all names back yet.
    scene.daemon("").stop();
    until("the names are taken back", || {
        let available = scene.setting("net.ipv4.tcp_available_congestion_control");
        !available.contains("weft_")
    });
}

/// The next start does not find names that are registered already.
#[test]
fn a_kill_during_a_reload_kills_both() {
    let scene = scene_or_skip!("a_kill_during_a_reload_kills_both");
    let daemon = scene.daemon("");
    daemon.reload();
    until("the successor is on trial", || {
        scene
            .try_status()
            .is_some_and(|status| status.process != daemon.process())
    });
    daemon.kill();
    let daemon = scene.daemon("");
    assert_eq!(scene.status().process, daemon.process());
    // A reload that is requested during another one follows it.
    daemon.reload();
    until("the successor is on trial", || {
        scene
            .try_status()
            .is_some_and(|status| status.process != daemon.process())
    });
    scene.configure("subflows.count = 2");
    scene.reload(&daemon);
    let log = daemon.log();
    let trials = || log.lock().expect("the log").matches("on trial").count();
    assert!(
        wait(30, || trials() == 2),
        "the reload that was requested last never began"
    );
    assert!(
        wait(30, || scene.try_status().is_some_and(|status| {
            status.process == daemon.process() && status.trial_s.is_none()
        })),
        "it never ended"
    );
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    let joined = || scene.subflows().len();
    until("a join", || joined() == 2);
    stays("one join", Duration::from_secs(1), || joined() == 2);
    daemon.stop();
}

#[test]
fn a_program_that_does_not_take_the_configuration_changes_nothing() {
    let scene = scene_or_skip!("a_program_that_does_not_take_the_configuration_changes_nothing");
    let program = scene.install();
    let daemon = scene.daemon_at(&program, "");
    scene.install_script("#!/bin/sh\necho the programs do not load >&2\nexit 1\n");
    let before = scene.status();
    daemon.reload();
    until("the refusal", || daemon.has_logged("not reloaded"));
    let after = scene.status();
    assert_eq!(after.process, before.process);
    assert!(after.uptime_s >= before.uptime_s);
    daemon.stop();
}

/// Connections of a namespace with settings of an earlier daemon get subflows neither from weftd nor from the kernel.
#[test]
fn a_reload_that_drops_a_namespace_restores_its_settings() {
    let scene = scene_or_skip!("a_reload_that_drops_a_namespace_restores_its_settings");
    let of_client = || ["net.ipv4.tcp_congestion_control", "net.mptcp.pm_type"].map(|key| scene.setting(key));
    let of_server = || weftd::daemon::settings::read(&scene.server, "net.mptcp.pm_type").expect("a setting");
    let before = of_client();
    let daemon = scene.daemon("");
    assert_eq!(of_client(), ["weft_amp", "1"]);
    scene.configure_these(&[&scene.server_name()], "");
    scene.reload(&daemon);
    assert_eq!(of_client(), before);
    assert_eq!(of_server(), "1");
    assert!(daemon.has_logged("no longer served"));
    daemon.stop();
    assert_eq!((of_client(), of_server()), (before, "0".to_owned()));
}
