// Windage's protocol of batch programs, in JavaScript; docs/FORMAT.md has the rules.
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';

function iteration() {
  return Array.from({ length: 1000 }, (_, i) => i * i).reduce((sum, square) => sum + square, 0);
}

async function flush() {}

const control = new Socket({ fd: Number(process.env.WINDAGE_CONTROL_FD) });
const say = (line) => control.write(`${line}\n`);

say(`about node ${process.version}`);
say('ready flush');
for await (const line of createInterface({ input: control })) {
  const [verb, count] = line.split(' ');
  if (verb === 'run') {
    for (let i = 0; i < Number(count); i++) iteration();
    say(`done ${count}`);
  } else if (verb === 'flush') {
    await flush();
    say('flushed');
  }
}
