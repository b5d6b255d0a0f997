// The panel "budgets" against memory_budget, time_budget, link_budget and strategies.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {spawnSync} = require('node:child_process');
const {after, before, test} = require('node:test');
const {launch, open, panelFolder} = require('./browser.js');
const {set} = require('./controls.js');
const {run, tableBelow, folder} = require('./programs.js');
const model = require(path.join(panelFolder, 'budget_model.js'));

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const rowsShown = (page, id) => page.$$eval(`#${id} tbody tr`, rows => rows.map(row => [...row.children].map(cell => cell.textContent)));
// The options of a program that say the same; parameters are in billions here.
const optionsOf = values => Object.entries(values).flatMap(([id, value]) => [`--${id}`, id === 'parameters' ? value * 1e9 : value]);

const shapes = [
  {},
  {parameters: 0.124, layers: 12, hidden: 768, heads: 12, sequence: 1024, 'micro-batch': 8, precision: 'mixed', optimizer: 'adam', recompute: 'attention'},
  {parameters: 70, layers: 80, hidden: 8192, heads: 64, sequence: 4096, 'micro-batch': 1, precision: 'mixed', optimizer: 'momentum', recompute: 'everything'},
  {parameters: 1.3, layers: 24, hidden: 2048, heads: 16, sequence: 2048, 'micro-batch': 2, precision: 'fp32', optimizer: 'sgd', recompute: 'nothing'},
  {parameters: 0.345, layers: 24, hidden: 1024, heads: 16, sequence: 512, 'micro-batch': 3, precision: 'fp32', optimizer: 'momentum', recompute: 'attention'},
];

for (const [index, shape] of shapes.entries()) {
  test(`memory, model ${index}: every number of memory_budget`, async () => {
    const {page, complaints, close} = await open(browser, 'budgets');
    await set(page, shape);
    const output = run('memory_budget', ...optionsOf(shape));
    for (const [id, head, count] of [['parts', 'GB on one GPU', 6], ['more-gpus', 'GB on each of P GPUs', 4], ['fit', 'the fewest GPUs', 4]]) {
      const {rows} = tableBelow(output, head);
      assert.equal(rows.length, count);
      assert.deepEqual(await rowsShown(page, id), rows, head);
    }
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('neighbouring parts of a bar have colours that can be told apart', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const {page, close} = await open(browser, 'budgets', {colorScheme});
    const colours = await page.$$eval('.swatch[class*="part-"]', swatches => swatches.map(swatch =>
      getComputedStyle(swatch).backgroundColor.match(/\d+/g).slice(0, 3).map(Number)));
    assert.equal(colours.length, 5);
    for (const [i, colour] of colours.slice(1).entries()) {
      const distance = Math.hypot(...colour.map((value, k) => value - colours[i][k]));
      assert.ok(distance >= 70, `${colorScheme}: part ${i} ${colours[i]} beside ${colour}: ${distance.toFixed(0)}`);
    }
    await close();
  }
});

// The text above the line that begins with `head`, in one line.
const wordsAbove = (output, head) => output.slice(0, output.search(new RegExp(`^${head}`, 'm'))).trim().replace(/\n */g, ' ');

test('time: every number of time_budget, from tokens and from hours', async () => {
  const {page, close} = await open(browser, 'budgets');
  for (const [values, recompute] of [[{}, false], [{parameters: 70, tokens: 1400, tflops: 989, utilisation: 0.38, efficiency: 0.95}, true],
                                     [{parameters: 0.124, tokens: 2.5, tflops: 19.5, utilisation: 0.25, efficiency: 1}, false]]) {
    await set(page, {...values, 'time-gpus': 24});
    await page.setChecked('#twice', recompute);
    const options = Object.entries(values).flatMap(([id, value]) => [`--${id}`, ['parameters', 'tokens'].includes(id) ? value * 1e9 : value]);
    const output = run('time_budget', ...options, '--gpus', '1,8,24,64,512', ...(recompute ? ['--recompute'] : []));
    assert.equal(await page.textContent('#time-status'), wordsAbove(output, 'GPUs'));
    assert.deepEqual(await rowsShown(page, 'times'), tableBelow(output, 'GPUs').rows);
  }
  await page.check('#knows-hours');
  for (const [hours, efficiency] of [[24, 0.9], [1000, 0.77], [0.5, 1], [87600, 0.5]]) {
    await set(page, {hours, efficiency});
    const output = run('time_budget', '--hours', hours, '--efficiency', efficiency, '--gpus', '1,8,24,64,512');
    assert.equal(await page.textContent('#time-status'), wordsAbove(output, 'GPUs'));
    assert.deepEqual(await rowsShown(page, 'times'), tableBelow(output, 'GPUs').rows);
  }
  await close();
});

test('links: every number of link_budget', async () => {
  const {page, close} = await open(browser, 'budgets');
  for (const [megabytes, gpus, stepMs, link] of [[100, 4, 50, 'PCIe 3 x16'], [0.01, 64, 50, 'InfiniBand HDR'], [0.01, 1000, 3.5, 'NVLink 2'],
                                                 [548, 8, 300, 'NVSwitch'], [3.125, 2, 1, '10 GbE'], [28000, 16, 9000, 'InfiniBand NDR'], [64, 5, 12.5, 'PCIe 5 x16']]) {
    const name = `${megabytes} MB, ${gpus} GPUs, ${link}`;
    await set(page, {megabytes, 'link-gpus': gpus, 'step-ms': stepMs, link});
    const output = run('link_budget', '--megabytes', megabytes, '--gpus', gpus, '--step-ms', stepMs, '--link', link);
    assert.deepEqual(await rowsShown(page, 'every-link'), tableBelow(output, 'link, GB/s').rows, name);
    assert.deepEqual(await rowsShown(page, 'algorithms'), tableBelow(output, 'algorithm').rows, name);
    assert.ok(output.replaceAll('\n', ' ').includes(await page.textContent('#ring-words')), name);
    for (const known of ['PCIe 3 x16', 'NVLink 2']) {  // the links whose envelope the program prints
      await set(page, {link: known});
      const envelope = (await page.textContent('#envelope')).replace(/ of the step$/, '');
      assert.ok(output.replaceAll(/\n +/g, ' ').includes(envelope), `${envelope} in ${output}`);
    }
  }
  await close();
});

const loadOptions = ({parameters, layers, hidden, heads, sequence, precision, optimizer}) =>
    Object.fromEntries(Object.entries({parameters, layers, hidden, heads, sequence, precision, optimizer}).filter(([, value]) => value !== undefined));

for (const [worldSize, microBatches, shape] of [[4, 4, {}], [4, 16, {}], [1, 3, {}], [2, 8, loadOptions(shapes[3])], [8, 8, loadOptions(shapes[2])], [16, 32, {precision: 'mixed', optimizer: 'momentum'}], [8, 24, loadOptions(shapes[4])], [3, 6, loadOptions(shapes[1])]]) {
  test(`strategies, ${worldSize} ranks and ${microBatches} micro-batches: pictures, idle shares and loads of the program`, async () => {
    const {page, complaints, close} = await open(browser, 'budgets');
    await set(page, {...shape, ranks: worldSize, 'micro-batches': microBatches});
    const output = run('strategies', '--world-size', worldSize, '--micro-batches', microBatches, ...optionsOf(shape), '--no-color');
    for (const name of model.strategies) {
      const block = output.split(/\n\n/).find(each => each.startsWith(`${name}: `)).split('\n');
      const printed = block.filter(line => line.startsWith('  rank ')).map(line => line.slice('  rank 0  '.length));
      const schedule = model.scheduleOf(name, worldSize, microBatches);
      assert.deepEqual(model.pictureOf(schedule).map(line => (line.length > 66 ? `${line.slice(0, 66)} ...` : line)), printed, name);
      const at = `#strategy-${name}`;
      assert.equal(await page.textContent(`${at} .soft`), block.at(-1).trim());
      assert.equal((await page.textContent(`${at} p`)).trim(), wordsAbove(block.join('\n'), '  rank'));
      assert.equal(await page.locator(`${at} .forward`).count(), schedule.tasks.filter(task => task.isForward).length);
      assert.equal(await page.locator(`${at} .backward`).count(), schedule.tasks.filter(task => !task.isForward).length);
    }
    assert.deepEqual(await rowsShown(page, 'loads'), tableBelow(output, 'GB of a rank').rows);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('what cannot be cut evenly is said in the program\u2019s words', async () => {
  const {page, close} = await open(browser, 'budgets');
  for (const [worldSize, microBatches, where] of [[4, 6, '#strategy-data .error'], [3, 3, '#loads']]) {
    await set(page, {ranks: worldSize, 'micro-batches': microBatches});
    const {status, stderr} = spawnSync(path.join(folder, 'strategies'), ['--world-size', worldSize, '--micro-batches', microBatches].map(String), {encoding: 'utf8'});
    assert.notEqual(status, 0);
    const said = /\d+ (?:micro-batches|layers|heads) cannot be [^\n]*? number of ranks|\d+ micro-batches cannot be [^\n]*multiple of \d+/.exec(stderr)[0];
    assert.ok((await page.textContent(where)).includes(said), `${said} in ${await page.textContent(where)}`);
  }
  await close();
});

test('the picture of memory has the numbers of the table', async () => {
  const {page, close} = await open(browser, 'budgets');
  for (const [i, gpus] of [1, 2, 4, 8, 16, 64].entries()) {
    await set(page, {'memory-gpus': gpus});
    const label = await page.getAttribute('#memory-picture svg', 'aria-label');
    for (const row of await rowsShown(page, 'more-gpus')) assert.ok(label.includes(`${row[0]} ${row[i + 1]}`), `${label}: ${row}`);
  }
  await close();
});

test('bars, the lines of cards and the axis have one scale', async () => {
  const {page, close} = await open(browser, 'budgets');
  for (const parameters of [0.1, 7, 20]) {
    await set(page, {parameters});
    const drawn = await page.$eval('#memory-picture svg', picture => {
      const gb = element => Number(element.dataset.gb), at = (element, name) => Number(element.getAttribute(name));
      const first = [...picture.querySelectorAll('.part-weights')][0], zero = at(first, 'x');
      return {perGb: [...picture.querySelectorAll('.bar')].filter(each => gb(each) > 1).map(each => (at(each, 'width') + 0.7) / gb(each)),
              lines: [...picture.querySelectorAll('.card-line')].map(each => [gb(each), (at(each, 'x1') - zero) / gb(each)])};
    });
    const scale = drawn.perGb[0];
    for (const each of [...drawn.perGb, ...drawn.lines.map(([, perGb]) => perGb)]) assert.ok(Math.abs(each / scale - 1) < 1e-6, `${each}, ${scale}`);
    assert.deepEqual(drawn.lines.map(([gb]) => gb), [24, 40, 80, 141].map(card => 0.9 * card).slice(0, drawn.lines.length));
    // A card holds a way of splitting if its bar does not pass the card's line: what memory_budget says, too.
    const fit = tableBelow(run('memory_budget', '--parameters', parameters * 1e9), 'the fewest GPUs').rows[0].slice(1);
    const total = Number((await rowsShown(page, 'more-gpus'))[0][1]);
    drawn.lines.forEach(([usable], i) => assert.equal(fit[i] === '1', total <= usable, `${parameters} billion, ${usable} GB`));
  }
  await close();
});

test('keyboard alone: a slider, a choice and a switch', async () => {
  const {page, close} = await open(browser, 'budgets');
  await page.focus('#ranks');
  await page.keyboard.press('Home');
  assert.match(await page.textContent('#strategy-model .soft'), /^12 units, 0 % idle$/);
  await page.focus('#knows-tokens');
  await page.keyboard.press('ArrowDown');
  assert.match(await page.textContent('#time-status'), /^a job of 24 hours/);
  await page.focus('#memory-gpus');
  await page.keyboard.press('Home');
  assert.match(await page.textContent('#live'), /^1 GPU: data parallel 130\.5 GB/);
  await close();
});
