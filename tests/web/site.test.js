// The finished site in a real browser, opened from the disk: `./lockstep docs`, then `node --test tests/web/site.test.js`.
// Skipped where the site has not been built.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const {pathToFileURL} = require('node:url');
const {launch, visit, show, problemsOf} = require('./browser.js');

const site = process.env.LOCKSTEP_SITE || path.resolve(__dirname, '..', '..', 'build', 'docs', 'site');
// Of every kind; lessons with panels are opened by lessons.test.js. Those of `onEveryScreen` are seen in both colours at both
// widths, the others once in each: colours and layouts are the same style sheets.
const onEveryScreen = [
  'index.html', 'chapters/05_gpt_single_device/index.html', 'exercises/02_ring_all_reduce/1_reduce_scatter/TASK.html',
  'pairs/train_gpt_ddp.html', 'reference/comm/process_group.html',
];
const others = [
  'contents.html', 'docs/glossary.html', 'docs/troubleshooting.html', 'docs/adr/index.html', 'panels/index.html',
  'reference/index.html', 'reference/names.html', 'source/chapters/02_ring_all_reduce/ring_process_group.cpp.html',
];
const lessons = fs.existsSync(path.join(site, 'chapters'))
    ? fs.readdirSync(path.join(site, 'chapters')).filter(name => /^\d\d_/.test(name)).map(name => `chapters/${name}/index.html`) : [];
const isBuilt = fs.existsSync(path.join(site, 'index.html'));
const options = {skip: isBuilt ? false : `there is no site in ${site}: run ./lockstep docs`, timeout: 180000};

let browser;
test.before(async () => {
  if (isBuilt) browser = await launch();
});
test.after(() => browser?.close());

// Not joined as a path: an address may end in a fragment.
const open = (address, settings) => visit(browser, `${pathToFileURL(site).href}/${address}`, settings);

const screens = [{width: 1280, colorScheme: 'light'}, {width: 390, colorScheme: 'dark'}, {width: 390, colorScheme: 'light'}, {width: 1280, colorScheme: 'dark'}];

for (const address of [...onEveryScreen, ...others]) {
  test(`${address}: accessible, and no wider than the screen`, options, async () => {
    const {page, complaints, close} = await open(address, screens[0]);
    for (const screen of onEveryScreen.includes(address) ? screens : screens.slice(0, 2)) {
      await show(page, screen);
      assert.deepEqual(await problemsOf(page), [], `${screen.width} px, ${screen.colorScheme}`);
    }
    assert.deepEqual(complaints, []);
    await close();
  });
}

// What can be moved sideways in the page, with all answers unfolded, and whether the hint below it is seen.
const slidersOf = page => page.evaluate(async () => {
  for (const each of document.querySelectorAll('details')) each.open = true;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));  // hints follow the next layout
  return [...document.querySelectorAll('.code pre, .text .scroll, .picture')].filter(box => box.offsetParent && !box.closest('.panel')).map(box => ({
    is: `${box.className || box.parentElement.className}: ${box.textContent.slice(0, 60)}`, isCode: box.matches('pre'), isPicture: box.matches('.picture'),
    slides: box.scrollWidth > box.clientWidth, saysSo: box.nextElementSibling?.matches('.slides:not([hidden])') ?? false,
  }));
});

test('no code scrolls sideways on a desk; on a phone, what does says so', options, async () => {
  const {page, close} = await open('index.html', {width: 1440});
  let tables = 0, pictures = 0;
  for (const address of lessons) {
    await page.setViewportSize({width: 1440, height: 900});
    await page.goto(`${pathToFileURL(site).href}/${address}`);
    assert.deepEqual((await slidersOf(page)).filter(each => each.isCode && each.slides), [], address);
    await page.setViewportSize({width: 390, height: 844});
    const onPhone = await slidersOf(page);
    assert.deepEqual(onPhone.filter(each => each.slides !== each.saysSo), [], address);
    tables += onPhone.filter(each => each.isCode && each.slides).length;
    pictures += onPhone.filter(each => each.isPicture && each.slides).length;
  }
  assert.ok(tables > 10 && pictures > 10, `${tables} tables in code and ${pictures} pictures slide`);
  await close();
});

test('on a phone, Copy appears with a tap and hides nothing', options, async () => {
  const {page, close} = await open('chapters/02_ring_all_reduce/index.html', {width: 390, height: 844, hasTouch: true, isMobile: true});
  const box = page.locator('.text > .code').first(), copy = box.locator('.copy');
  assert.equal(await copy.isVisible(), false);
  await box.locator('pre').tap();
  assert.equal(await copy.isVisible(), true);
  const covered = await copy.evaluate(button => {
    const mine = button.getBoundingClientRect();
    return [...document.querySelectorAll('main pre, main p, main li')].filter(each => {
      const other = each.getBoundingClientRect();
      return other.bottom > mine.top && other.top < mine.bottom && other.right > mine.left && other.left < mine.right;
    }).map(each => each.textContent);
  });
  assert.deepEqual(covered, []);
  await close();
});

test('the two commands are on the first screen of the front page', options, async () => {
  const {page, close} = await open('index.html');
  for (const [width, height] of [[1366, 650], [390, 844]]) {
    await page.setViewportSize({width, height});
    for (const command of ['./lockstep train', './lockstep test']) {
      const place = await page.getByText(command, {exact: true}).first().boundingBox();
      assert.ok(place && place.y >= 0 && place.y + place.height <= height, `${command} at ${width}x${height}: ${JSON.stringify(place)}`);
    }
  }
  await close();
});

test('the search finds a section by keyboard alone', options, async () => {
  const {page, complaints, close} = await open('docs/learner.html');
  await page.keyboard.press('/');
  await page.keyboard.type('reduce-scatter');
  await page.waitForSelector('#results a');
  const titles = await page.$$eval('#results a', links => links.map(link => link.textContent));
  assert.match(titles.join('\n'), /Ring all-reduce/);
  await page.keyboard.press('ArrowDown');
  const selected = await page.getAttribute('#results a[aria-selected="true"]', 'href');
  await page.keyboard.press('Enter');
  await page.waitForURL(url => url.href.endsWith(selected.split('/').pop()));
  assert.deepEqual(complaints, []);
  await close();
});

test('the search finds a public name, and says so where there is nothing', options, async () => {
  const {page, close} = await open('index.html');
  await page.fill('#search-field', 'ProcessGroup::all_reduce');
  await page.waitForSelector('#results a');
  assert.match(await page.getAttribute('#results a', 'href'), /reference\/comm\/process_group\.html#ProcessGroup\.all_reduce$/);
  await page.fill('#search-field', 'xyzzyx');
  await page.waitForSelector('#results p');
  assert.match(await page.textContent('#results'), /Nothing found/);
  await close();
});

test('the switch changes colours and pictures, and is remembered', options, async () => {
  const {page, close} = await open('chapters/02_ring_all_reduce/index.html');
  const shown = () => page.evaluate(() => ({
    paper: getComputedStyle(document.body).backgroundColor,
    pictures: [...document.querySelectorAll('.picture img')].filter(image => image.offsetParent).map(image => image.src.endsWith('.dark.svg')),
  }));
  const light = await shown();
  assert.ok(light.pictures.length > 2 && light.pictures.every(isDark => !isDark));
  await page.click('button.theme');
  const dark = await shown();
  assert.notEqual(dark.paper, light.paper);
  assert.ok(dark.pictures.every(Boolean));
  await page.reload();
  assert.deepEqual(await shown(), dark);
  await close();
});

test('on a phone the book opens as a drawer and closes with Escape', options, async () => {
  const {page, close} = await open('chapters/02_ring_all_reduce/index.html', {width: 390});
  assert.equal(await page.isVisible('#book'), false);
  await page.focus('.menu');
  await page.keyboard.press('Enter');
  assert.equal(await page.isVisible('#book'), true);
  assert.equal(await page.getAttribute('.menu', 'aria-expanded'), 'true');
  await page.keyboard.press('Escape');
  assert.equal(await page.isVisible('#book'), false);
  await close();
});

test('a link to lines marks exactly these lines', options, async () => {
  const {page, close} = await open('source/chapters/02_ring_all_reduce/ring_process_group.cpp.html#L24-L41');
  const marked = await page.$$eval('.row.marked', rows => rows.map(row => row.id));
  assert.deepEqual(marked, Array.from({length: 18}, (_, i) => `L${24 + i}`));
  assert.equal(await page.isVisible('#L24'), true);
  await close();
});

test('copying from a terminal takes the commands alone', options, async () => {
  const {page, close} = await open('chapters/02_ring_all_reduce/index.html');
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}}));
  await page.evaluate(() => { for (const each of document.querySelectorAll('details')) each.open = true; });  // it is an answer
  await page.hover('.code.session');
  await page.click('.code.session .copy');
  assert.equal(await page.evaluate(() => window.copied), './lockstep run 02 ring_steps --world-size 3');
  await close();
});
