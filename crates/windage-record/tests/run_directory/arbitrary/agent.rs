//! Arbitrary attachments of agents.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use windage_model::{AgentCycle, BpfProgram, BpfStatistics};

use super::{arm, text};

fn bpf_program() -> impl Strategy<Value = BpfProgram> {
    (any::<u32>(), text(), text(), any::<[u64; 2]>()).prop_map(
        |(id, name, kind, [runs, run_ns])| BpfProgram {
            id,
            name,
            kind,
            runs,
            run_ns,
        },
    )
}

fn bpf_statistics() -> impl Strategy<Value = BpfStatistics> {
    let readings = [option::of(any::<u64>()), option::of(any::<u64>())];
    (any::<[u64; 3]>(), readings).prop_map(|(n, [cpu_ns, cpu_without_ns])| BpfStatistics {
        duration_ns: n[0],
        requests: n[1],
        cpu_ns,
        cpu_without_ns,
        requests_without: n[2],
    })
}

pub(super) fn agent_cycle() -> impl Strategy<Value = AgentCycle> {
    let readings = prop::array::uniform6(option::of(any::<u64>()));
    let kernel = (
        option::of(vec(bpf_program(), 0..3)),
        option::of(bpf_statistics()),
    );
    let ends = (vec(text(), 0..3), option::of(text()));
    (
        (any::<[u32; 3]>(), arm()),
        any::<[u64; 5]>(),
        readings,
        kernel,
        ends,
    )
        .prop_map(
            |(([launch, block, links], arm), n, r, (programs, statistics), ends)| AgentCycle {
                launch,
                block,
                arm,
                attach_ns: n[0],
                attach_cpu_ns: r[0],
                attach_rss_peak_bytes: r[1],
                up_ns: n[1],
                up_cpu_ns: r[2],
                requests: n[2],
                rss_steady_bytes: r[3],
                rss_peak_bytes: r[4],
                detach_ns: n[3],
                detach_cpu_ns: r[5],
                programs,
                links,
                bpf_memory_bytes: n[4],
                statistics,
                left_behind: ends.0,
                failed: ends.1,
            },
        )
}
