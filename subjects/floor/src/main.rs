//! The minimum cost of a closed loop over HTTP/1.1.
//!
//! One thread sends a fixed request on each of its connections, waits for the answer and sends
//! again. It makes only the necessary system calls: no parser (an answer ends after as many bytes
//! as the first one had), one clock reading per iteration, no histogram. Its cost is the kernel's
//! share of a request, a lower bound for any generator that makes the same calls.

use std::ffi::c_int;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::ptr;
use std::time::{Duration, Instant};

mod arguments;

use arguments::Arguments;

const BATCH: u8 = 64;
const BUFFER_BYTES: usize = 64 * 1024;
/// How long an iteration waits for an answer before it checks the clock.
const PATIENCE_MS: c_int = 100;
/// The first answer is complete when nothing arrived for this long.
const SILENCE: Duration = Duration::from_millis(300);

/// A connection, and how many bytes of its current answer have arrived.
struct Lane {
    socket: TcpStream,
    received: usize,
}

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            let _ = writeln!(io::stdout(), "{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "floor: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<String, String> {
    let mut words = std::env::args();
    let _program = words.next();
    let Arguments {
        address,
        connections,
        lasts,
    } = arguments::parse(words)?;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
    let at_address = |error: io::Error| format!("{address}: {error}");

    let answer_bytes = learn(&address, &request).map_err(at_address)?;
    let mut lanes = Vec::with_capacity(connections);
    for _ in 0..connections {
        lanes.push(connect(&address).map_err(at_address)?);
    }
    let epoll = watch(&lanes).map_err(at_address)?;

    let (began, cpu_before_us) = (Instant::now(), cpu_us().map_err(at_address)?);
    let requests =
        turn(&epoll, &mut lanes, &request, answer_bytes, began + lasts).map_err(at_address)?;
    let (seconds, cpu_after_us) = (began.elapsed().as_secs_f64(), cpu_us().map_err(at_address)?);
    if requests == 0 {
        return Err(format!("{address}: no answer within {lasts:?}"));
    }
    let cpu_us_per_request = (cpu_after_us - cpu_before_us) / requests as f64;
    Ok(format!(
        "{{\"requests\":{requests},\"seconds\":{seconds:.6},\
         \"cpu_us_per_request\":{cpu_us_per_request:.4}}}"
    ))
}

/// The length of an answer, taken from the first one.
fn learn(address: &str, request: &[u8]) -> io::Result<usize> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(SILENCE))?;
    socket.write_all(request)?;
    let (mut buffer, mut answer_bytes) = (vec![0; BUFFER_BYTES], 0);
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return Err(io::Error::other("the server does not keep its connections")),
            Ok(length) => answer_bytes += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && answer_bytes > 0 => {
                return Ok(answer_bytes);
            }
            Err(error) => return Err(error),
        }
    }
}

fn connect(address: &str) -> io::Result<Lane> {
    let socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Ok(Lane {
        socket,
        received: 0,
    })
}

/// An epoll instance that reports, edge-triggered, when there is something to read.
fn watch(lanes: &[Lane]) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    let raw = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: the descriptor is new and has no other owner.
    let epoll = unsafe { OwnedFd::from_raw_fd(raw) };
    for (index, lane) in lanes.iter().enumerate() {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            u64: index as u64,
        };
        // SAFETY: both descriptors are open, and the kernel copies the event within the call.
        checked(unsafe {
            libc::epoll_ctl(
                epoll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                lane.socket.as_raw_fd(),
                &raw mut event,
            )
        })?;
    }
    Ok(epoll)
}

/// The loop. Counts the answers that were complete at `ends`.
fn turn(
    epoll: &OwnedFd,
    lanes: &mut [Lane],
    request: &[u8],
    answer_bytes: usize,
    ends: Instant,
) -> io::Result<u64> {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH as usize];
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut requests = 0;
    for lane in lanes.iter() {
        send(lane, request)?;
    }
    while Instant::now() < ends {
        let ready = wait(epoll, &mut events)?;
        for event in &events[..ready] {
            let lane = &mut lanes[event.u64 as usize];
            lane.received += receive(lane, &mut buffer)?;
            if lane.received == answer_bytes {
                requests += 1;
                lane.received = 0;
                send(lane, request)?;
            } else if lane.received > answer_bytes {
                return Err(io::Error::other("answers differ in length"));
            }
        }
    }
    Ok(requests)
}

fn wait(epoll: &OwnedFd, events: &mut [libc::epoll_event; BATCH as usize]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as many events as the array has room for.
    let ready = unsafe {
        libc::epoll_wait(
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            c_int::from(BATCH),
            PATIENCE_MS,
        )
    };
    match checked(ready) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        // Checked: it is not negative.
        other => other.map(|ready| ready as usize),
    }
}

/// A request is short and the socket buffer empty, so it is sent in one call.
fn send(lane: &Lane, request: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of one slice, which is only read.
    let sent = unsafe {
        libc::send(
            lane.socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    match usize::try_from(sent) {
        Ok(sent) if sent == request.len() => Ok(()),
        Ok(_) => Err(io::Error::other("a request did not go out whole")),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// One read. It takes everything, since answers are shorter than the buffer.
fn receive(lane: &Lane, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one slice, borrowed exclusively.
    let received = unsafe {
        libc::recv(
            lane.socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    };
    match usize::try_from(received) {
        Ok(0) => Err(io::Error::other("the server closed a connection")),
        Ok(received) => Ok(received),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// User and system time of this process, in microseconds.
fn cpu_us() -> io::Result<f64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills in the structure that the pointer is to.
    checked(unsafe { libc::getrusage(libc::RUSAGE_SELF, ptr::from_mut(&mut usage).cast()) })?;
    // SAFETY: the call succeeded, so it was filled in.
    let usage = unsafe { usage.assume_init() };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    Ok(us(usage.ru_utime) + us(usage.ru_stime))
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
