//! A cable between two network namespaces with a propagation delay, for kernels without `netem`: two TUN devices, and threads
//! that hold each packet for its delay.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use tun_rs::{DeviceBuilder, SyncDevice};

use crate::scene::ip;

/// More than the largest packet of a TUN device, which has no segmentation offload.
const LARGEST_PACKET: usize = 1 << 16;

/// Connects two namespaces, each by a device of this name. A packet takes half of `rtt` in each direction. The cable ends with
/// one of the namespaces.
pub fn delayed_cable(ends: [(&str, &str); 2], prefix: &str, rtt: Duration) {
    let devices = [0, 1].map(|end| {
        let (namespace, device) = ends[end];
        // In the namespace of this process until it is moved, so its name is unique.
        let name = format!("wd{}-{end}", std::process::id());
        let opened = DeviceBuilder::new()
            .name(&name)
            .build_sync()
            .expect("a TUN device");
        ip(&["link", "set", "dev", &name, "netns", namespace, "name", device]);
        let address = format!("{prefix}.{}/24", end + 1);
        ip(&["-n", namespace, "address", "add", &address, "dev", device]);
        ip(&["-n", namespace, "link", "set", device, "txqueuelen", "2000", "up"]);
        Arc::new(opened)
    });
    for (from, to) in [(0, 1), (1, 0)] {
        forward(Arc::clone(&devices[from]), Arc::clone(&devices[to]), rtt / 2);
    }
}

fn forward(from: Arc<SyncDevice>, to: Arc<SyncDevice>, delay: Duration) {
    let (arrived, due) = channel::<(Instant, Vec<u8>)>();
    spawn(move || {
        let mut buffer = vec![0; LARGEST_PACKET];
        while let Ok(len) = from.recv(&mut buffer) {
            if arrived
                .send((Instant::now() + delay, buffer[..len].to_vec()))
                .is_err()
            {
                return;
            }
        }
    });
    spawn(move || {
        for (time, packet) in due {
            sleep(time.saturating_duration_since(Instant::now()));
            if to.send(&packet).is_err() {
                return;
            }
        }
    });
}
