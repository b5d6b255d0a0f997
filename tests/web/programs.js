// Runs the course's programs, whose output the panels must equal.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const {execFileSync} = require('node:child_process');
const {root} = require('./browser.js');

const folder = path.resolve(process.env.LOCKSTEP_BIN || path.join(root, 'build', 'cpu', 'bin'));

// What a program prints; it must succeed.
function run(program, ...args) {
  return execFileSync(path.join(folder, program), args.map(String),
                      {encoding: 'utf8', timeout: 180_000, cwd: root, stdio: ['ignore', 'pipe', 'inherit'],
                       env: {...process.env, NO_COLOR: '1', OMP_NUM_THREADS: '1'}});
}

// The cells of each line of a TextTable: columns are two blanks or more apart.
const cellsOf = line => line.trim().split(/ {2,}/);

// The rows below the line that begins with `head`, up to an empty line or one with another number of cells.
function tableBelow(output, head) {
  const lines = output.split('\n'), first = lines.findIndex(line => line.startsWith(head));
  if (first < 0) throw new Error(`no line begins with "${head}" in:\n${output}`);
  const columns = cellsOf(lines[first]), rows = [];
  for (const line of lines.slice(first + 1)) {
    const cells = cellsOf(line);
    if (cells.length !== columns.length) break;
    rows.push(cells);
  }
  return {columns, rows};
}

const isBuilt = program => fs.existsSync(path.join(folder, program));

module.exports = {run, cellsOf, tableBelow, isBuilt, folder};
