// The panel "warp" against the counts of the emulator.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {spawnSync} = require('node:child_process');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, root} = require('./browser.js');
const {set} = require('./controls.js');
const {folder: bin} = require('./programs.js');

let browser;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-warp-'));
before(async () => { browser = await launch(); });
after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true});
});

// What the emulator says of a kernel file, on both of its outputs.
function countsOf(source, ...args) {
  const {status, stdout, stderr} = spawnSync(path.join(bin, 'lockstep'), ['emulate', '--metrics', path.join(root, source), ...args],
                                             {encoding: 'utf8', cwd: root, timeout: 300_000});
  assert.equal(status, 0, stderr);
  return stdout + stderr;
}

let counts;
const patternsFile = 'tests/web/warp_patterns.cu';
before(() => { counts = countsOf(patternsFile); });

const cases = fs.readFileSync(path.join(root, patternsFile), 'utf8').split('\n').map((line, i) => [/\/\/ case (\w+) (\w+) (\d+) (\d+) (\d+)$/.exec(line), i + 1])
    .filter(([match]) => match).map(([[, memory, pattern, size, stride, offset], line]) => ({memory, pattern, size, stride, offset, line}));

test('the emulator counts for every pattern what the panel shows', async () => {
  assert.ok(cases.length >= 30);
  const {page, complaints, close} = await open(browser, 'warp');
  for (const each of cases) {
    const {memory, pattern, size, stride, offset, line} = each;
    await set(page, {pattern, size, offset, ...(pattern === 'strided' ? {stride} : {})});
    const counted = new RegExp(`warp_patterns\\.cu:${line} +${memory} \\w+ +1 request of ([\\d.]+) \\w+ \\(ideal ([\\d.]+)\\)`).exec(counts);
    assert.ok(counted, `no single request of line ${line} in:\n${counts}`);
    const shown = await page.$$eval(memory === 'global' ? '#sector-count, #sector-ideal' : '#pass-count, #pass-ideal', all => all.map(({textContent}) => textContent));
    assert.deepEqual(shown.map(Number), counted.slice(1).map(Number), JSON.stringify(each));
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('pictures have as many sectors and words as the numbers say', async () => {
  const {page, close} = await open(browser, 'warp');
  for (const [pattern, size, stride, offset] of [['strided', 4, 2, 0], ['consecutive', 4, 1, 1], ['column', 4, 1, 0], ['padded', 8, 1, 3], ['strided', 16, 64, 5], ['broadcast', 1, 1, 0]]) {
    await set(page, {pattern, size, offset, ...(pattern === 'strided' ? {stride} : {})});
    assert.equal(await page.locator('.sector').count(), Number(await page.textContent('#sector-count')));
    const label = await page.getAttribute('#banks svg', 'aria-label');
    const passes = [...label.matchAll(/: (\d+) pass/g)].reduce((sum, match) => sum + Number(match[1]), 0);
    assert.equal(passes, Number(await page.textContent('#pass-count')), label);
    assert.equal(await page.locator('#addresses tbody tr').count(), 32);
  }
  await close();
});

test('the numbers of the chapter', async () => {
  const {page, close} = await open(browser, 'warp');
  const read = async (pattern, stride, offset) => {
    await set(page, {pattern, offset, ...(pattern === 'strided' ? {stride} : {})});
    return [await page.textContent('#sector-count'), await page.textContent('#used'), await page.textContent('#pass-count')];
  };
  assert.deepEqual(await read('consecutive', 1, 0), ['4', '100 %', '1']);
  assert.deepEqual(await read('strided', 2, 0), ['8', '50 %', '2']);  // the chapter's closing question
  assert.deepEqual(await read('strided', 8, 0), ['32', '12.5 %', '8']);
  await page.click('#question-show');  // asks for the same pattern
  assert.match(await page.textContent('#question-said'), /^It delivers 32 sectors, and the lanes use 12\.5 % /);
  assert.deepEqual(await read('column', 1, 0), ['32', '12.5 %', '32']);
  assert.deepEqual((await read('padded', 1, 0))[2], '1');
  await close();
});

const message = page => page.textContent('#trace-message');

test('counts of real kernels: from a file and pasted', async () => {
  const file = path.join(folder, 'counts.txt');
  fs.writeFileSync(file, counts);
  const {page, complaints, close} = await open(browser, 'warp');
  await page.setInputFiles('#trace', file);
  await page.waitForSelector('.kernel');
  const lines = counts.split('\n').filter(line => / requests? of /.test(line));
  assert.match(await message(page), new RegExp(`^${lines.length} lines of 2 kernels`));
  const shown = await page.$$eval('.kernel tbody tr', rows => rows.map(row => [...row.children].map(cell => cell.textContent)));
  assert.equal(shown.length, lines.length);
  for (const [i, line] of lines.entries()) {
    const [, place, memory, operation, requests, each, ideal] = /^ +(\S+) +(\w+) (\w+) +(\d+) requests? of (\S+) \w+ \(ideal (\S+)\)$/.exec(line);
    assert.deepEqual(shown[i].slice(0, 5), [place, `${each} ${memory === 'shared' ? 'passes' : 'sectors'}`, ideal, `${memory} ${operation}`, requests]);
    assert.equal(shown[i][6] === 'ideal', each === ideal, line);
  }
  await page.click('#trace-leave');
  assert.equal(await page.locator('.kernel').count(), 0);
  await page.fill('#paste', counts);
  assert.equal(await page.locator('.kernel tbody tr').count(), lines.length);
  assert.deepEqual(complaints, []);
  await close();
});

test('counts are accessible and fit a phone', async () => {
  assert.deepEqual(await problemsWith(browser, 'warp', async page => {
    await page.fill('#paste', counts);
    await page.click('summary');
    await page.selectOption('#pattern', 'column');
  }), []);
});

test('the chapter\u2019s own kernel, as its lesson runs it', async () => {
  const {page, close} = await open(browser, 'warp');
  await page.fill('#paste', countsOf('chapters/04_kernels/programs/softmax_gpu.cu'));
  assert.match(await message(page), /^\d+ lines of 1 kernel:/);
  assert.match(await page.textContent('.kernel'), /softmax_gpu\.cu:191\.50 sectors1\.00global load2/);
  await close();
});

test('text without counts, or cut in the middle, is refused with a sentence', async () => {
  const {page, close} = await open(browser, 'warp');
  const rows = counts.split('\n'), row = rows.findIndex(line => / requests? of /.test(line));
  for (const [text, pattern] of [['hello', /There are no counts in this text\. It should be/], [rows.filter(line => !line.startsWith('kernel ')).join('\n'), /begin in the middle/],
                                 [rows.slice(0, row + 1).join('\n').slice(0, -4), /cut or changed/], [rows.find(line => line.startsWith('emulated CUDA: memory')), /table of counts is empty/]]) {
    await page.fill('#paste', text);
    assert.match(await message(page), pattern);
    assert.match(await page.getAttribute('#trace-message', 'class'), /error/);
    assert.equal(await page.locator('.kernel').count(), 0);
  }
  await close();
});

test('keyboard alone: pattern, stride, addresses', async () => {
  const {page, close} = await open(browser, 'warp');
  await page.focus('#stride');
  await page.keyboard.press('End');
  assert.equal(await page.textContent('#sector-count'), '32');
  await page.focus('summary');
  await page.keyboard.press('Enter');
  assert.equal(await page.isVisible('#addresses table'), true);
  assert.equal(await page.textContent('#live'), await page.textContent('#status'));
  await close();
});
