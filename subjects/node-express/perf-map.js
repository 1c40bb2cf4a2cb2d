// Preloaded beside --perf-basic-prof: V8's map of compiled functions, which perf looks for by the process's number,
// does not outlive the process.

'use strict';

const { rmSync } = require('node:fs');

process.on('exit', () => rmSync(`/tmp/perf-${process.pid}.map`, { force: true }));
