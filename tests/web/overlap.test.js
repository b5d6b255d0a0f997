// The panel "overlap" against link_budget and the buckets of real training runs.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, panelFolder} = require('./browser.js');
const {set} = require('./controls.js');
const {run, tableBelow} = require('./programs.js');
const model = require(path.join(panelFolder, 'overlap_model.js'));

let browser;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-overlap-'));
before(async () => { browser = await launch(); });
after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true});
});

const figure = (page, id) => page.textContent(`#${id}`);
const rowsShown = page => page.$$eval('#buckets tbody tr', rows => rows.map(row => [...row.children].map(cell => cell.textContent)));
const milliseconds = text => { const [value, unit] = text.replace('at least ', '').split(' '); return value * {'µs': 1e-3, ms: 1, s: 1e3}[unit]; };

// The run folder of a short training run.
function train(name, worldSize, size, steps, program = 'train_gpt_ddp') {
  const out = path.join(folder, name);
  run('lockstep', 'launch', '--nproc', worldSize, '--', program, '--model', size, '--steps', steps, '--batch-size', worldSize,
      '--sample-tokens', 0, '--out', out);
  return path.join(out, fs.readdirSync(out)[0]);
}
const tracesOf = (run, worldSize) => [...Array(worldSize).keys()].map(rank => path.join(run, `trace_rank${rank}.json`));
const eventsOf = file => JSON.parse(fs.readFileSync(file, 'utf8')).traceEvents.filter(event => event.ph === 'X');

test('one bucket of all gradients takes as long as link_budget says', async () => {
  const {page, close} = await open(browser, 'overlap');
  await page.click('#one-bucket');
  for (const [size, gpus, link] of [['tiny', 4, '10 GbE'], ['small', 8, 'PCIe 3 x16'], ['124m', 64, 'InfiniBand NDR'], ['tutorial', 2, '100 GbE']]) {
    await set(page, {model: size, link, ranks: gpus});
    const bytes = 4 * model.parametersOf(model.modelNamed(size)).reduce((sum, {count}) => sum + count, 0);
    const {rows} = tableBelow(run('link_budget', '--megabytes', bytes / 1e6, '--gpus', gpus, '--link', link), 'algorithm');
    const ring = rows.find(([name]) => name === 'ring');
    assert.equal(await figure(page, 'communication'), `${ring[6]} ms`, `${size}, ${gpus} GPUs, ${link}`);
    assert.equal(await figure(page, 'exposed'), `${ring[6]} ms`, 'nothing is hidden');
    assert.equal(await figure(page, 'hidden'), '0 µs');
    assert.equal((await rowsShown(page)).length, 1);
    assert.match(await page.textContent('#status'), /^1 bucket for/);
  }
  await page.click('#course-sizes');
  assert.deepEqual([await page.inputValue('#bucket-value'), await page.inputValue('#first-value')], ['25', '1']);
  assert.ok((await rowsShown(page)).length > 1);
  await close();
});

for (const size of ['tiny', 'small']) {
  test(`the buckets of "${size}" are those that train_gpt_ddp really sends`, async () => {
    const trained = train(size, 2, size, 2);
    const counts = eventsOf(tracesOf(trained, 1)[0]).filter(event => event.args.step === 2)
        .map(event => /\(bucket \d+; mean of (\d+) float32\)/.exec(event.name)).filter(Boolean).map(match => 4 * Number(match[1]));
    assert.ok(counts.length >= 2);
    assert.deepEqual(model.layOutBuckets(model.parametersOf(model.modelNamed(size))).map(({bytes}) => bytes), counts);
    const {page, close} = await open(browser, 'overlap');
    await page.selectOption('#model', size);
    assert.equal((await rowsShown(page)).length, counts.length);
    await close();
  });
}

test('communication is hidden or exposed, and smaller buckets leave earlier', async () => {
  const {page, complaints, close} = await open(browser, 'overlap');
  const all = [];
  for (const mib of [1000, 100, 25, 5]) {
    await set(page, {bucket: mib});
    const [together, hidden, exposed] = await Promise.all(['communication', 'hidden', 'exposed'].map(async id => milliseconds(await figure(page, id))));
    assert.ok(Math.abs(together - hidden - exposed) <= 0.01 * together, `${together} = ${hidden} + ${exposed}, to three digits`);
    all.push(exposed);
  }
  assert.ok(all[0] > all[2], `${all}`);
  const leaves = (await rowsShown(page)).map(row => milliseconds(row[4]));
  assert.deepEqual(leaves, [...leaves].sort((a, b) => a - b), 'in order');
  assert.deepEqual(complaints, []);
  await close();
});

test('a real run\u2019s trace: buckets, times and exposed communication', async () => {
  const trained = train('real', 3, 'tiny', 4);
  const {page, complaints, close} = await open(browser, 'overlap');
  await page.setInputFiles('#trace', tracesOf(trained, 3));
  await page.waitForFunction(() => document.getElementById('trace-message').textContent !== '');
  assert.equal(await page.textContent('#trace-message'), '4 steps of 3 ranks. The last is shown above.');
  const metrics = fs.readFileSync(path.join(trained, 'metrics.jsonl'), 'utf8').trim().split('\n').map(line => JSON.parse(line));
  const agreeing = [];  // steps; on a busy machine the communication's thread may begin a bucket long after it was sent
  for (const [index, {step, exposed_communication_ms: waited, backward_ms: backward}] of metrics.entries()) {
    await page.selectOption('#step', String(index));
    const rows = await rowsShown(page);
    const ofRank0 = rows.filter(row => row[0] === '0');
    const sent = eventsOf(tracesOf(trained, 1)[0]).filter(event => event.args.step === step && /mean of \d+ float32/.test(event.name));
    assert.deepEqual(ofRank0.map(row => row[2]), sent.map(event => (4 * /of (\d+)/.exec(event.name)[1] / 1e6).toFixed(2)));
    for (const [i, event] of sent.entries()) {
      const took = (event.args.end_ns - event.args.begin_ns) / 1e6;
      assert.ok(Math.abs(milliseconds(ofRank0[i][5]) - took) <= 0.006 * took, `bucket ${i} took ${took} ms`);
    }
    // What the wrapper measured on rank 0 lies within: it begins when backward has returned, just after the last bucket
    // was sent, unless the buckets had to queue.
    const exposed = await page.evaluate(at => {
      const {traceFile, overlapModel} = Lockstep;
      return overlapModel.stepsOf(traceFile.read(at.files)).map(({rows}) => rows[0])[at.index];
    }, {index, files: tracesOf(trained, 3).map(file => ({name: file, text: fs.readFileSync(file, 'utf8')}))});
    assert.ok(exposed.exposed <= backward, `${exposed.exposed} of ${backward} ms`);
    if (exposed.isAtLeast || exposed.exposed >= waited - 0.3) agreeing.push(step);
  }
  assert.notEqual(agreeing.length, 0, 'in no step is the exposed time that of the wrapper');
  assert.deepEqual(await problemsWith(browser, 'overlap', async each => {
    await each.setInputFiles('#trace', tracesOf(trained, 3));
    await each.waitForSelector('#step');
  }), []);
  await page.click('#trace-leave');
  assert.equal(await page.isVisible('#settings'), true);
  assert.deepEqual(complaints, []);
  await close();
});

test('traces that cannot be used say why, and leave the panel as it is', async () => {
  const trained = train('single', 1, 'tiny', 2, 'train_gpt_single'), other = path.join(folder, 'ring');
  run('ring_trace', '--world-size', 2, '--bytes', 64, '--out', other);
  const cut = path.join(folder, 'cut.json');
  fs.writeFileSync(cut, fs.readFileSync(path.join(trained, 'trace_rank0.json'), 'utf8').slice(0, 500));
  const {page, complaints, close} = await open(browser, 'overlap');
  const status = await page.textContent('#status');
  for (const [files, pattern] of [[[path.join(trained, 'trace_rank0.json')], /it is that of a single rank/], [[path.join(other, 'trace.json')], /no backward pass/],
                                  [[cut], /cut\.json cannot be used: it is not JSON, or it was cut off/]]) {
    await page.setInputFiles('#trace', files);
    await page.waitForFunction(() => document.getElementById('trace-message').className.includes('error'));
    assert.match(await page.textContent('#trace-message'), pattern);
    assert.equal(await page.textContent('#status'), status);
    await page.evaluate(() => { document.getElementById('trace-message').className = ''; });
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('keyboard alone: bucket size and model', async () => {
  const {page, close} = await open(browser, 'overlap');
  await page.focus('#bucket');
  await page.keyboard.press('End');
  assert.equal(await page.inputValue('#bucket-value'), '1000');
  assert.match(await page.textContent('#status'), /^2 buckets/);
  await page.focus('#one-bucket');
  await page.keyboard.press('Enter');
  assert.match(await page.textContent('#status'), /^1 bucket for 124 million/);
  await page.focus('#model');
  await page.keyboard.press('t');
  assert.match(await page.textContent('#status'), /0\.84 million/);
  assert.equal(await page.textContent('#live'), await page.textContent('#status'));
  await close();
});
