// report.html of a real run, under a pointer and under fingers.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {after, before, test} = require('node:test');
const {launch, visit, show, problemsOf} = require('./browser.js');
const {run} = require('./programs.js');

const kRanks = 3, kSteps = 4;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-report-'));
let browser, report, traces;
before(async () => {
  run('lockstep', 'launch', '--nproc', kRanks, '--', 'train_gpt_ddp', '--model', 'tiny', '--steps', kSteps, '--batch-size', kRanks,
      '--validate-every', kSteps, '--sample-tokens', 0, '--out', folder);
  const runFolder = path.join(folder, fs.readdirSync(folder)[0]);
  report = pathToFileURL(path.join(runFolder, 'report.html')).href;
  traces = [...Array(kRanks).keys()].map(rank =>
      JSON.parse(fs.readFileSync(path.join(runFolder, `trace_rank${rank}.json`), 'utf8')).traceEvents.filter(event => event.ph === 'X'));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true});
});

const tip = page => page.textContent('.tooltip');
const isTipShown = page => page.isVisible('.tooltip');

// The middle of the widest drawn bar whose name matches, once the page has stopped moving: moving takes tooltips away.
async function middleOf(page, pattern) {
  await page.locator('.timeline-view').scrollIntoViewIfNeeded();
  return page.evaluate(async source => {
    for (let frame = 0; frame < 2; ++frame) await new Promise(requestAnimationFrame);
    const widths = [...document.querySelectorAll('.span')].filter(rect => new RegExp(source).test(rect.span[6]))
        .map(rect => [rect.getBoundingClientRect(), rect.span]).sort(([a], [b]) => b.width - a.width);
    const [box, span] = widths[0];
    return {x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width, name: span[6], step: span[5]};
  }, pattern);
}

test('the same words in bars, legend and table; a run that ended inside its warm-up says so', async () => {
  const {page, complaints, close} = await visit(browser, report);
  assert.match(await page.textContent('.lead'), /^(less than )?\d+ % of each step was waiting for other ranks.* exposed communication of lesson 06, “Run it”\.$/);
  const legend = await page.$$eval('.timeline .legend .key', keys => keys.map(key => key.textContent));
  const columns = await page.$$eval('.timeline th[scope=col]', cells => cells.slice(1).map(cell => cell.textContent));
  assert.deepEqual(columns, legend);
  const drawn = await page.$$eval('.span', rects => [...new Set(rects.map(rect => rect.span[6]))].filter(name => !name.includes('#')));
  for (const name of drawn) assert.ok(legend.includes(name), `${name} in ${legend}`);
  assert.ok(drawn.includes('waiting for other ranks'));
  assert.match(await page.textContent('main'), new RegExp(`rose in all ${kSteps} steps: the run is shorter than its warm-up`));
  assert.match(await page.textContent('main'), /slowestrank \d: most time without waiting for other ranks, [\d.]+ ms a step/);
  assert.ok(await page.isVisible('circle.point.s1'), 'the only validation value is a dot');
  assert.deepEqual(complaints, []);
  await close();
});

test('a collective under the pointer lights up on all ranks, with who waited for whom', async () => {
  const {page, complaints, close} = await visit(browser, report, {width: 1440});
  const {x, y, name, step} = await middleOf(page, 'bucket 1');
  await page.mouse.move(x, y);
  assert.match(name, /^all_reduce #\d+ \(bucket 1; mean of \d+ float32\)$/);
  const begins = traces.map((events, rank) => [rank, events.find(event => event.name === name && event.args.step === step).args.begin_ns]).sort(([, a], [, b]) => b - a);
  const longest = (begins[0][1] - begins.at(-1)[1]) / 1e3;  // microseconds
  const text = await tip(page);
  if (longest < 50) assert.match(text, /\nall ranks began within /);
  else assert.match(text, new RegExp(`\nrank ${begins[0][0]} came last\nrank ${begins.at(-1)[0]} waited [\\d.]+ (µs|ms|s) for it\nrank ${begins[1][0]} waited `));
  const lit = await page.$$eval('.span.lit', rects => rects.map(rect => [rect.span[6], rect.getBoundingClientRect().y]));
  assert.deepEqual(lit.map(([each]) => each), Array(kRanks).fill(name));
  assert.equal(new Set(lit.map(([, top]) => top)).size, kRanks, 'one on each rank');
  const [box, view] = await Promise.all(['.tooltip', '.timeline-view'].map(each => page.locator(each).boundingBox()));
  assert.ok(box.y + box.height <= view.y || box.y >= view.y + view.height, 'no rank is covered');
  const widths = await page.$$eval('.waited', rects => rects.map(rect => rect.getBoundingClientRect().width));
  assert.ok(widths.length < kRanks, 'the last to begin waited for nobody');
  const other = await middleOf(page, '^forward$');
  await page.mouse.move(other.x, other.y);
  assert.match(await tip(page), /^forward\nforward, /);
  assert.equal(await page.locator('.lit, .waited').count(), 0);
  await page.mouse.move(2, 2);
  assert.equal(await isTipShown(page), false);
  assert.deepEqual(complaints, []);
  await close();
});

test('who waited for whom, in words', async () => {
  const {page, close} = await visit(browser, report);
  const words = (name, ...begins) => page.evaluate(([called, all]) => whoWaited(called, all.map((begin, rank) => [rank, begin])), [name, begins]);
  assert.equal(await words('all_reduce #1 (mean of 9 float32)', 1000, 3500, 2000), 'rank 1 came last\nrank 0 waited 2.50 ms for it\nrank 2 waited 1.50 ms for it');
  assert.equal(await words('barrier #1', 0, 1000, 2000, 3000, 4000, 9000),
               'rank 5 came last\nrank 0 waited 9.00 ms for it\nrank 1 waited 8.00 ms for it\nrank 2 waited 7.00 ms for it\n2 more ranks waited at most 6.00 ms');
  assert.equal(await words('broadcast #4 (9 float32 from rank 0)', 0, 1000), 'rank 1 began last, 1.00 ms after rank 0');
  assert.equal(await words('all_reduce #1 (mean of 9 float32)', 10, 30), 'all ranks began within 20.0 µs');
  const short = (name, count) => page.evaluate(([text, most]) => shorten(text, most), [name, count]);
  for (const [count, expected] of [[60, 'all_reduce #5 (bucket 12; mean of 96 float32)'], [20, 'bucket 12'], [9, 'bucket 12'], [8, '12'], [1, '']])
    assert.equal(await short('all_reduce #5 (bucket 12; mean of 96 float32)', count), expected);
  for (const [count, expected] of [[20, 'all_reduce #5'], [5, 'all_…'], [3, '']]) assert.equal(await short('all_reduce #5 (mean of 1 float32)', count), expected);
  for (const [count, expected] of [[8, 'backward'], [5, 'back…'], [3, '']]) assert.equal(await short('backward', count), expected);
  await close();
});

const phone = {width: 390, height: 844, hasTouch: true, isMobile: true};

test('on a phone: a tap shows the times of a bar and the values of a chart, and the next tap takes them away', async () => {
  const {page, complaints, close} = await visit(browser, report, phone);
  const {x, y, name} = await middleOf(page, 'bucket 1');
  await page.touchscreen.tap(x, y);
  assert.ok((await tip(page)).startsWith(name));
  assert.equal(await isTipShown(page), true);
  assert.equal(await page.locator('.lit').count(), kRanks);
  const box = await page.locator('.tooltip').boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= phone.width, JSON.stringify(box));
  await page.locator('h1').scrollIntoViewIfNeeded();
  await page.locator('h1').tap();
  assert.equal(await isTipShown(page), false);
  assert.equal(await page.locator('.lit').count(), 0);
  const chart = page.locator('svg[data-chart]').first();
  await chart.tap();
  assert.match(await tip(page), /^training: [\d.]+ {2}\(step \d\)\nvalidation: /);
  assert.equal(await isTipShown(page), true);
  assert.ok(await page.locator('.cursor circle').count() > 0);
  await page.locator('h1').tap();
  assert.equal(await isTipShown(page), false);
  assert.equal(await page.locator('.cursor circle').count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test('on a phone: two fingers zoom, one moves', async () => {
  const {page, complaints, close} = await visit(browser, report, phone);
  const session = await page.context().newCDPSession(page);
  const touch = (type, ...xs) => session.send('Input.dispatchTouchEvent', {type, touchPoints: xs.map((x, id) => ({x, y, id}))});
  const {y} = await middleOf(page, '^backward$');
  const view = () => page.evaluate(() => timelines[0].view);
  const timeAt = x => page.evaluate(at => timelines[0].timeAt(at), x);
  const near = (value, wanted, what) => assert.ok(Math.abs(value - wanted) < 0.02 * whole.end, `${what}: ${value} instead of ${wanted} of ${whole.end} \u00b5s`);
  const whole = await view(), between = await timeAt(220);
  await touch('touchStart', 200, 240);
  for (const wide of [5, 10, 20]) await touch('touchMove', 200 - wide, 240 + wide);
  await touch('touchEnd');
  const zoomed = await view();
  near(zoomed.end - zoomed.begin, whole.end / 2, 'twice as far apart, half the time');
  near(await timeAt(220), between, 'the time between the fingers');
  const held = await timeAt(240);
  await touch('touchStart', 240);
  for (const x of [230, 220, 200]) await touch('touchMove', x);
  await touch('touchEnd');
  near(await timeAt(200), held, 'the time below the finger');
  const moved = await view();
  near(moved.end - moved.begin, zoomed.end - zoomed.begin, 'one finger does not zoom');
  await page.getByRole('button', {name: 'Whole'}).click();
  assert.deepEqual(await view(), whole);
  assert.match(await page.textContent('.timeline-tools .note'), /^Tap a collective: .* pinch to zoom$/);
  assert.deepEqual(complaints, []);
  await close();
});

test('accessible on a desk and on a phone, light and dark', async () => {
  for (const options of [phone, {width: 1440}]) {
    const {page, complaints, close} = await visit(browser, report, options);
    for (const colorScheme of ['light', 'dark']) {
      await show(page, {width: options.width, colorScheme});
      assert.deepEqual(await problemsOf(page), [], `${options.width} ${colorScheme}`);
    }
    assert.deepEqual(complaints, []);
    await close();
  }
});
