//! Kernel features that agents may need.

macro_rules! facilities {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// What an agent may need of the kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Facility { $($(#[doc = $doc])+ $variant,)+ }

        impl Facility {
            /// Every facility.
            pub const ALL: &'static [Facility] = &[$(Facility::$variant,)+];

            /// The word used in plans and reports.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Facility::$variant => $name,)+ }
            }

            /// One sentence of meaning.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Facility::$variant => concat!($($doc,)+).trim_ascii_start(),)+ }
            }
        }
    };
}

facilities! {
    /// The `bpf()` system call, for this user.
    Bpf = "bpf";
    /// The kernel's type information (BTF), for programs that are compiled once for all kernels.
    Btf = "btf";
    /// The tracing file system, where tracepoints are looked up.
    Tracefs = "tracefs";
    /// BPF programs on the kernel's static probes, by perf events.
    Tracepoint = "tracepoint";
    /// BPF programs on the kernel's static probes, without copied arguments.
    RawTracepoint = "raw_tracepoint";
    /// Probes on functions of the kernel.
    Kprobe = "kprobe";
    /// BPF programs on functions of the kernel, by trampolines.
    Fentry = "fentry";
    /// Probes on functions of programs.
    Uprobe = "uprobe";
    /// BPF programs that write into the memory of the watched process.
    ProbeWriteUser = "bpf_probe_write_user";
    /// Sampling by a software clock.
    PerfEvent = "perf_event";
    /// Hardware counters, such as cycles.
    HardwareCounters = "hardware_counters";
}
