//! A BPF program that would write to the memory of a process. It is loaded and never attached.

use std::io;
use std::os::fd::OwnedFd;

use crate::bpf::call;

/// `BPF_PROG_LOAD` and `BPF_PROG_TYPE_KPROBE` of `linux/bpf.h`.
const PROG_LOAD: libc::c_long = 5;
const KPROBE: u32 = 2;
/// `bpf_probe_write_user(to, from, length)`.
const PROBE_WRITE_USER: i32 = 36;

/// One instruction: `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    /// The target in the lower four bits, the source in the upper four.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers,
        offset,
        immediate,
    }
}

/// Writes eight zero bytes from the stack to address zero, where no process has memory.
const PROGRAM: [Instruction; 8] = [
    // *(u64 *)(r10 - 8) = 0
    instruction(0x7a, 0x0a, -8, 0),
    // r1 = 0
    instruction(0xb7, 0x01, 0, 0),
    // r2 = r10
    instruction(0xbf, 0xa2, 0, 0),
    // r2 -= 8
    instruction(0x07, 0x02, 0, -8),
    // r3 = 8
    instruction(0xb7, 0x03, 0, 8),
    instruction(0x85, 0x00, 0, PROBE_WRITE_USER),
    // r0 = 0
    instruction(0xb7, 0x00, 0, 0),
    // exit
    instruction(0x95, 0x00, 0, 0),
];

/// The first fields of `union bpf_attr` for `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    program_type: u32,
    instructions: u32,
    program: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// The loaded program, freed when dropped.
pub(super) fn load() -> io::Result<OwnedFd> {
    let attributes = Load {
        program_type: KPROBE,
        instructions: PROGRAM.len() as u32,
        program: PROGRAM.as_ptr() as u64,
        licence: c"GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: these are the attributes of the command; the program and the licence that they point
    // to outlive the call.
    unsafe { call::opening(PROG_LOAD, &attributes) }
}
