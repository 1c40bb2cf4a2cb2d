//! A service that runs already, and that replaces its processes at each switch.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use crate::alone;
use crate::workshop::Workshop;

/// An answer takes more than that.
const CPU_PER_REQUEST_NS_MIN: u64 = 1_000;

/// An nginx that the test started, and not Windage.
struct Nginx(PathBuf);

impl Nginx {
    fn tell(&self, args: &[&str]) {
        let mut nginx = Command::new("nginx");
        nginx.arg("-c").arg(self.0.join("nginx.conf"));
        let told = nginx.arg("-p").arg(&self.0).args(args).status().unwrap();
        assert!(told.success(), "nginx {args:?}: {told}");
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.tell(&["-s", "stop"]);
    }
}

#[test]
fn workers_that_a_switch_replaces_are_counted() {
    let _alone = alone();
    let (shop, home) = (Workshop::new(), Workshop::new());
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    home.write(
        "nginx.conf",
        &format!(
            "worker_processes 1;\npid nginx.pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\nkeepalive_requests 100000000;\n\
             server {{ listen {address}; location / {{ return 200 'fifty bytes'; }} }}\n}}\n"
        ),
    );
    let nginx = Nginx(home.dir().to_owned());
    nginx.tell(&[]);
    let pid = fs::read_to_string(home.dir().join("nginx.pid")).unwrap();
    let folder = home.dir().display();
    let reload = format!("switch = ['nginx -c {folder}/nginx.conf -p {folder} -s reload']");
    shop.write(
        "plan.toml",
        &format!(
            "name = 'replaced'\n\n\
             [[service]]\nname = 'web'\nattach = {{ pid = {} }}\nlisten = '{address}'\n\n\
             [load]\nmodel = 'closed'\nconnections = 4\nrequest = 'GET http://{{web}}/'\n\n\
             [[arm]]\nname = 'first'\nbaseline = true\n{reload}\n\n[[arm]]\nname = 'second'\n{reload}\n\n\
             [design]\nwindow = '50ms'\nsettle = '200ms'\nrounds = 2\nfor = '2s'\nwarmup = '200ms'\n",
            pid.trim()
        ),
    );
    let plan = shop.dir().join("plan.toml").display().to_string();
    shop.windage(&["run", &plan, "--out", &shop.run]).code(0);

    let args = ["report", &shop.run, "--format", "windows"];
    let table = shop.windage(&args).code(0).stdout;
    let mut lines = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|of| *of == name).unwrap();
    let (completed, cpu_ns) = (column("completed_requests"), column("in_window_cpu_ns"));
    let mut windows = 0;
    for line in lines {
        let [completed, cpu_ns] = [completed, cpu_ns].map(|at| line[at].parse::<u64>().unwrap());
        assert!(cpu_ns >= completed * CPU_PER_REQUEST_NS_MIN, "{line:?}");
        windows += 1;
    }
    assert!(windows >= 10, "{table}");
}
