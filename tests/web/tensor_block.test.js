// The panel "tensor_block" against column_row, which counts what it sends, and against the lesson's table.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, type, panelFolder} = require('./browser.js');
const {run} = require('./programs.js');
const model = require(path.join(panelFolder, 'tensor_block_model.js'));
const {readableBytes} = require(path.join(panelFolder, 'numbers.js'));

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const kinds = (block, pair, pass) => block.events.filter(event => event.is === 'collective' && event.pair === pair && event.pass === pass);

// column_row computes in float64, the panel in float32.
test('an MLP sends what column_row sends in either direction', () => {
  for (const worldSize of [1, 2, 4, 8]) {
    const output = run('column_row', '--ranks', worldSize), [, rows, channels] = /x \[(\d+), (\d+)\]/.exec(output).map(Number);
    const block = model.blockOf({channels, rows, worldSize, isSequence: false});
    for (const pass of ['forward', 'backward']) {
      const [, number, bytes] = new RegExp(`${pass}: +(\\d+) all-reduce.* (\\d+) bytes sent`).exec(output).map(Number);
      const collectives = kinds(block, 'the MLP', pass);
      assert.deepEqual(collectives.map(({kind}) => kind), Array(number).fill('all-reduce'));
      assert.equal(2 * collectives[0].bytes, bytes, `${worldSize} ranks, ${pass}`);
    }
  }
});

test('a block sends 8RC elements (t-1)/t times, and 10RC with sequence parallelism', () => {
  for (const [channels, rows, worldSize] of [[128, 96, 2], [768, 8192, 4], [512, 4064, 8]]) {
    const each = 4 * rows * channels * (worldSize - 1) / worldSize;
    const tensor = model.blockOf({channels, rows, worldSize, isSequence: false}), both = model.blockOf({channels, rows, worldSize, isSequence: true});
    assert.deepEqual([tensor.sent, tensor.allReduces, tensor.allGathers, tensor.reduceScatters], [8 * each, 4, 0, 0]);
    assert.deepEqual([both.sent, both.allReduces, both.allGathers, both.reduceScatters], [10 * each, 0, 6, 4]);
    assert.equal(tensor.streamBytes, worldSize * both.streamBytes);
  }
});

test('every operation on columns is followed by a collective, and every one on rows has one on either side', () => {
  for (const isSequence of [false, true]) {
    const {events} = model.blockOf({channels: 64, rows: 32, worldSize: 2, isSequence});
    events.forEach((event, i) => {
      const next = events[i + 1];
      if (event.holds === 'columns') assert.equal(next.is, 'collective');
      if (event.holds === 'rows' && next && next.pass === event.pass === 'forward') assert.equal(next.kind, 'all-gather');
      if (event.holds === 'whole') assert.equal(isSequence, false);
    });
  }
});

test('the page shows the numbers of the model, and a sentence for each event', async () => {
  const {page, complaints, close} = await open(browser, 'tensor_block');
  for (const [name, worldSize, rows, isSequence] of [['124m', 8, 1024, false], ['tiny', 4, 100, true]]) {
    await page.selectOption('#model', name);
    await page.selectOption('#ranks', String(worldSize));
    await type(page, 'rows', rows);
    await page.setChecked('#sequence', isSequence);
    const block = model.blockOf({channels: model.modelNamed(name).channels, rows, worldSize, isSequence});
    assert.equal(await page.textContent('#sent'), readableBytes(Math.round(block.sent)));
    assert.equal(await page.textContent('#stream'), readableBytes(block.streamBytes));
    await page.focus('#scrub');
    await page.keyboard.press('Home');
    const said = [];
    for (const event of block.events) {
      said.push(await page.textContent('#status'));
      assert.equal(await page.textContent('#sent-so-far'), readableBytes(Math.round(event.sent)));
      await page.keyboard.press('ArrowRight');
    }
    assert.equal(new Set(said).size, block.events.length, said.join('\n'));
  }
  await page.click('#chart svg', {position: {x: 90, y: 60}});
  assert.match(await page.textContent('#status'), /^Forward, attention: ln_1; each rank computes it on its own rows/);
  assert.deepEqual(complaints, []);
  await close();
});

test('accessible, and no wider than the screen, with eight ranks and sequence parallelism', async () => {
  assert.deepEqual(await problemsWith(browser, 'tensor_block', async page => {
    await page.selectOption('#ranks', '8');
    await page.check('#sequence');
    await page.click('#step');
  }), []);
});
