// What the metrics of analysis.json are called and mean. The wording is that of the model
// (crates/windage-model/src/metric.rs); a test holds them together.

import type { Metric } from "../analysis";
import { capitalised } from "./names";

/** A metric for people. */
export interface MetricWords {
  /** Short enough for a column, where a title stands beside it. */
  name: string;
  /** As it is named in a sentence, where nothing stands beside it. */
  spoken: string;
  /** What it is, in a sentence. */
  about: string;
  unit: Metric["unit"];
  direction: Metric["direction"];
}

/** By the names of analysis.json, in the order of reports. */
export const METRICS: Readonly<Record<string, MetricWords>> = {
  cpu_per_request: {
    name: "CPU a request",
    spoken: "CPU a request",
    about: "CPU that the subject uses for a request, wherever it falls: in the window or deferred.",
    unit: "us",
    direction: "lower",
  },
  cpu_in_window: {
    name: "in the window",
    spoken: "CPU in the window",
    about: "CPU that the subject uses for a request while the window lasts.",
    unit: "us",
    direction: "lower",
  },
  cpu_deferred: {
    name: "deferred",
    spoken: "deferred CPU",
    about: "CPU that the subject uses for a request outside its windows, less what it uses when idle.",
    unit: "us",
    direction: "lower",
  },
  cpu_idle: {
    name: "subject idle",
    spoken: "subject idle",
    about: "CPU that the subject uses when it has long had nothing to do.",
    unit: "cores",
    direction: "lower",
  },
  throughput: {
    name: "throughput",
    spoken: "throughput",
    about: "Completed requests a second.",
    unit: "1/s",
    direction: "higher",
  },
  response_time_p10: {
    name: "p10",
    spoken: "response time at p10",
    about: "Response time (from the intended start), 10th percentile: a cost that every request pays, at the quantile that noise reaches least.",
    unit: "us",
    direction: "lower",
  },
  response_time_p50: {
    name: "p50",
    spoken: "median response time",
    about: "Response time (from the intended start), median.",
    unit: "us",
    direction: "lower",
  },
  response_time_p90: {
    name: "p90",
    spoken: "response time at p90",
    about: "Response time (from the intended start), 90th percentile.",
    unit: "us",
    direction: "lower",
  },
  response_time_p99: {
    name: "p99",
    spoken: "response time at p99",
    about: "Response time (from the intended start), 99th percentile.",
    unit: "us",
    direction: "lower",
  },
  response_time_p999: {
    name: "p99.9",
    spoken: "response time at p99.9",
    about: "Response time (from the intended start), 99.9th percentile.",
    unit: "us",
    direction: "lower",
  },
  service_time_p10: {
    name: "p10",
    spoken: "service time at p10",
    about: "Service time (from the actual send), 10th percentile: a cost that every request pays, at the quantile that noise reaches least.",
    unit: "us",
    direction: "lower",
  },
  service_time_p50: {
    name: "p50",
    spoken: "median service time",
    about: "Service time (from the actual send), median.",
    unit: "us",
    direction: "lower",
  },
  service_time_p90: {
    name: "p90",
    spoken: "service time at p90",
    about: "Service time (from the actual send), 90th percentile.",
    unit: "us",
    direction: "lower",
  },
  service_time_p99: {
    name: "p99",
    spoken: "service time at p99",
    about: "Service time (from the actual send), 99th percentile.",
    unit: "us",
    direction: "lower",
  },
  service_time_p999: {
    name: "p99.9",
    spoken: "service time at p99.9",
    about: "Service time (from the actual send), 99.9th percentile.",
    unit: "us",
    direction: "lower",
  },
  machine_cpu_per_request: {
    name: "busy CPU a request",
    spoken: "the machine's CPU a request",
    about: "Busy CPU of the whole machine for a request: service, generator, sink, kernel and the rest.",
    unit: "us",
    direction: "lower",
  },
  generator_cpu_per_request: {
    name: "generator CPU a request",
    spoken: "the generator's CPU a request",
    about: "CPU that the load generator uses for a request; an arm should not change it.",
    unit: "us",
    direction: "lower",
  },
  rss_steady: {
    name: "RSS, steady",
    spoken: "RSS, steady",
    about: "Resident memory of the subject under load, mean over windows.",
    unit: "bytes",
    direction: "lower",
  },
  rss_peak: {
    name: "RSS, peak",
    spoken: "RSS, peak",
    about: "Resident memory of the subject, highest seen from launch to end.",
    unit: "bytes",
    direction: "lower",
  },
  pss: {
    name: "PSS",
    spoken: "PSS",
    about: "Proportional share of memory of the subject, read once a round.",
    unit: "bytes",
    direction: "lower",
  },
  errors_per_request: {
    name: "errors a request",
    spoken: "errors a request",
    about: "Requests that failed or were answered with a status of 400 and above, of all.",
    unit: "1",
    direction: "lower",
  },
  context_switches_per_request: {
    name: "context switches per request",
    spoken: "context switches per request",
    about: "How often a thread of the subject was given a core, for a request.",
    unit: "1",
    direction: "lower",
  },
  page_faults_per_request: {
    name: "page faults per request",
    spoken: "page faults per request",
    about: "Page faults of the subject, minor and major, for a request.",
    unit: "1",
    direction: "lower",
  },
  wire_bytes_per_request: {
    name: "wire bytes a request",
    spoken: "wire bytes a request",
    about: "Bytes of telemetry that left the subject for a request, as they were on the wire.",
    unit: "bytes",
    direction: "lower",
  },
  startup_time: {
    name: "start-up",
    spoken: "start-up",
    about: "From the launch of the service until it was ready.",
    unit: "s",
    direction: "lower",
  },
  startup_cpu: {
    name: "start-up CPU",
    spoken: "start-up CPU",
    about: "CPU of the subject from its launch until it was ready.",
    unit: "s",
    direction: "lower",
  },
  flush_time: {
    name: "flush",
    spoken: "flush",
    about: "Batch load: from the order to flush until everything that was held is out.",
    unit: "s",
    direction: "lower",
  },
  flush_cpu: {
    name: "flush CPU",
    spoken: "flush CPU",
    about: "Batch load: CPU of the subject in that time.",
    unit: "s",
    direction: "lower",
  },
  cpu_per_iteration: {
    name: "CPU an iteration",
    spoken: "CPU an iteration",
    about: "Batch load: CPU that the subject uses for an iteration, in the window or deferred.",
    unit: "us",
    direction: "lower",
  },
  wall_per_iteration: {
    name: "time an iteration",
    spoken: "time an iteration",
    about: "Batch load: elapsed time of an iteration.",
    unit: "us",
    direction: "lower",
  },
  cpu_per_span: {
    name: "CPU a span delivered",
    spoken: "CPU a span delivered",
    about: "CPU that an arm costs over the baseline for each span that was delivered.",
    unit: "us",
    direction: "lower",
  },
  cpu_per_event: {
    name: "CPU an event delivered",
    spoken: "CPU an event delivered",
    about: "CPU that an arm costs over the baseline for each event on a span that was delivered; what the spans themselves cost is in it.",
    unit: "us",
    direction: "lower",
  },
  agent_cpu: {
    name: "agent CPU",
    spoken: "agent CPU",
    about: "CPU of the arm's agents in the arm's own windows.",
    unit: "cores",
    direction: "lower",
  },
  agent_cpu_per_request: {
    name: "agent CPU a request",
    spoken: "agent CPU a request",
    about: "CPU of the arm's agents for a request of the arm, attaching, detaching and windows of bystanders left out.",
    unit: "us",
    direction: "lower",
  },
  kernel_threads_cpu_per_request: {
    name: "kernel threads' CPU a request",
    spoken: "kernel threads' CPU a request",
    about: "CPU of the kernel's own threads for a request.",
    unit: "us",
    direction: "lower",
  },
  agent_rss_steady: {
    name: "agent RSS, steady",
    spoken: "agent RSS, steady",
    about: "Resident memory of the arm's agents under load.",
    unit: "bytes",
    direction: "lower",
  },
  agent_rss_peak: {
    name: "agent RSS, peak",
    spoken: "agent RSS, peak",
    about: "Resident memory of the arm's agents, highest seen from their start to their end.",
    unit: "bytes",
    direction: "lower",
  },
  agent_attach_time: {
    name: "attaching",
    spoken: "attaching",
    about: "From the start of the arm's agents until they were ready.",
    unit: "s",
    direction: "lower",
  },
  agent_attach_cpu: {
    name: "attaching, CPU",
    spoken: "attaching, CPU",
    about: "CPU of the arm's agents in that time.",
    unit: "s",
    direction: "lower",
  },
  bpf_ns_per_request: {
    name: "time in BPF a request",
    spoken: "time in BPF a request",
    about: "Time in the agents' BPF programs for a request, by the kernel's own count; the cost of entering them is not in it, about one read of the clock for each run is.",
    unit: "ns",
    direction: "lower",
  },
  bpf_runs_per_request: {
    name: "BPF runs a request",
    spoken: "BPF runs a request",
    about: "Runs of the agents' BPF programs for a request.",
    unit: "1",
    direction: "lower",
  },
};

/** The words for a metric; one that this page does not know is called by its own name. */
export function words(metric: string, of?: Pick<Metric, "unit" | "direction">): MetricWords {
  const known = METRICS[metric];
  if (known) return known;
  const name = metric.replaceAll("_", " ");
  return { name, spoken: name, about: "", unit: of?.unit ?? "1", direction: of?.direction ?? "lower" };
}

/** The name of a metric as a heading: "Median response time". */
export function headline(metric: string): string {
  return capitalised(words(metric).spoken);
}
