// Preloaded with --perf-basic-prof: removes V8's map of compiled functions, which perf finds by pid, at the end
// of the process.

'use strict';

const { rmSync } = require('node:fs');

process.on('exit', () => rmSync(`/tmp/perf-${process.pid}.map`, { force: true }));
