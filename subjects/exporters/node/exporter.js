// Sends a known number of spans, points or records with the OpenTelemetry SDK for JavaScript.
// ../README.md describes the flags and what is sent.

import { parseArgs } from 'node:util';
import { ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const BATCH = 100;
const SPANS_A_TRACE = 10;
// Collects only on request.
const NEVER_MS = 2 ** 31 - 1;

const EXPORTERS = {
  traces: {
    http: ['@opentelemetry/exporter-trace-otlp-proto', 'OTLPTraceExporter'],
    json: ['@opentelemetry/exporter-trace-otlp-http', 'OTLPTraceExporter'],
    grpc: ['@opentelemetry/exporter-trace-otlp-grpc', 'OTLPTraceExporter'],
    zipkin: ['@opentelemetry/exporter-zipkin', 'ZipkinExporter'],
  },
  metrics: {
    http: ['@opentelemetry/exporter-metrics-otlp-proto', 'OTLPMetricExporter'],
    json: ['@opentelemetry/exporter-metrics-otlp-http', 'OTLPMetricExporter'],
    grpc: ['@opentelemetry/exporter-metrics-otlp-grpc', 'OTLPMetricExporter'],
  },
  logs: {
    http: ['@opentelemetry/exporter-logs-otlp-proto', 'OTLPLogExporter'],
    json: ['@opentelemetry/exporter-logs-otlp-http', 'OTLPLogExporter'],
    grpc: ['@opentelemetry/exporter-logs-otlp-grpc', 'OTLPLogExporter'],
  },
};

const options = readOptions();
configure(options);
const results = [];
const exporter = await makeExporter(options, results);
await { traces: sendTraces, metrics: sendMetrics, logs: sendLogs }[options.signal](options, exporter);
const failed = results.filter((result) => result.code !== 0);
if (failed.length > 0 || results.length === 0) {
  console.error(`exporter: ${failed.length} of ${results.length} exports failed`, failed[0]?.error);
  process.exit(1);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      signal: { type: 'string' },
      protocol: { type: 'string' },
      compression: { type: 'string', default: 'none' },
      endpoint: { type: 'string' },
      count: { type: 'string' },
      events: { type: 'string', default: '0' },
      links: { type: 'string', default: '0' },
      attributes: { type: 'string', default: '0' },
    },
  });
  if (!EXPORTERS[values.signal]?.[values.protocol]) {
    throw new Error(`--signal ${values.signal} --protocol ${values.protocol}: no such exporter`);
  }
  for (const name of ['count', 'events', 'links', 'attributes']) values[name] = Number(values[name]);
  return values;
}

// The SDK reads its settings from the environment, as in a service.
function configure({ count, compression, endpoint }) {
  Object.assign(process.env, {
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: BATCH,
    // Nothing may be dropped before it is exported.
    OTEL_BSP_MAX_QUEUE_SIZE: Math.max(count, BATCH),
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_COMPRESSION: compression,
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    OTEL_EXPORTER_ZIPKIN_ENDPOINT: `${endpoint}/api/v2/spans`,
  });
}

// The exporter of a signal, which adds the result of each export to `results`.
async function makeExporter({ signal, protocol }, results) {
  const [module, name] = EXPORTERS[signal][protocol];
  const exporter = new (await import(module))[name]();
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      results.push(result);
      done(result);
    });
  return exporter;
}

async function sendTraces({ count, events, links, attributes }, exporter) {
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  const tracer = provider.getTracer('exporter');
  const elsewhere = { traceId: '1'.padStart(32, '0'), spanId: '1'.padStart(16, '0'), traceFlags: TraceFlags.SAMPLED };
  let parent = ROOT_CONTEXT;
  for (let number = 0; number < count; number++) {
    const isRoot = number % SPANS_A_TRACE === 0;
    const span = tracer.startSpan(
      `span ${number}`,
      {
        attributes: Object.fromEntries(times(attributes, (i) => [`attribute.${i}`, `value ${number}`])),
        links: times(links, () => ({ context: elsewhere })),
      },
      isRoot ? ROOT_CONTEXT : parent,
    );
    if (isRoot) parent = trace.setSpan(ROOT_CONTEXT, span);
    times(events, (i) => span.addEvent(`event ${i}`, { number: i }));
    span.end();
  }
  await provider.shutdown();
}

async function sendMetrics({ count }, exporter) {
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: NEVER_MS });
  const provider = new MeterProvider({ readers: [reader] });
  const meter = provider.getMeter('exporter');
  const counter = meter.createCounter('counter');
  const histogram = meter.createHistogram('histogram');
  for (let first = 0; first < count; first += BATCH) {
    const isCounter = (first / BATCH) % 2 === 0;
    for (let number = first; number < Math.min(first + BATCH, count); number++) {
      if (isCounter) counter.add(1, { point: number });
      else histogram.record(1, { point: number });
    }
    await provider.forceFlush();
  }
  await provider.shutdown();
}

async function sendLogs({ count }, exporter) {
  // This part of the SDK does not read the environment itself.
  const limits = { maxExportBatchSize: BATCH, maxQueueSize: Math.max(count, BATCH) };
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter, ...limits })] });
  const logger = provider.getLogger('exporter');
  for (let number = 0; number < count; number++) {
    logger.emit({ severityNumber: SeverityNumber.INFO, body: `record ${number}`, attributes: { number } });
  }
  await provider.shutdown();
}

function times(count, make) {
  return Array.from({ length: count }, (_, i) => make(i));
}
