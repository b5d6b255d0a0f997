// The panels in their lessons, and on their own pages, of the finished site (`./lockstep docs`), opened from the disk.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const {pathToFileURL} = require('node:url');
const {launch, visit, problemsOf, panels} = require('./browser.js');

const site = process.env.LOCKSTEP_SITE || path.resolve(__dirname, '..', '..', 'build', 'docs', 'site');
const isBuilt = fs.existsSync(path.join(site, 'index.html'));
const options = {skip: isBuilt ? false : `there is no site in ${site}: run ./lockstep docs`, timeout: 240000};

// Lesson, section, and words that find the panel.
const places = {
  budgets: {lesson: '00_why_many_gpus', section: 'your-own-model', ideas: ['does it fit', 'tensor parallel']},
  ring: {lesson: '02_ring_all_reduce', section: 'one-step-and-the-first-half', ideas: ['reduce-scatter', 'mesh']},
  warp: {lesson: '04_kernels', section: 'bytes-coalescing', ideas: ['coalescing', 'bank conflict']},
  step_together: {lesson: '06_gpt_ddp', section: 'first-rung-average-after-backward', ideas: ['replicas drift', 'broadcast']},
  overlap: {lesson: '06_gpt_ddp', section: 'run-it', ideas: ['exposed communication', 'bucket size']},
  sharded: {lesson: '09_sharded', section: 'stage-3-weights-that-come-and-go', ideas: ['FSDP', 'peak memory']},
};

let browser;
test.before(async () => { if (isBuilt) browser = await launch(); });
test.after(() => browser?.close());

const open = (address, settings) => visit(browser, `${pathToFileURL(site).href}/${address}`, settings);

// The frame of a panel, scrolled to and running.
async function frameOn(page, panel) {
  const box = page.locator(`.panel[data-src*="/${panel}.html"]`);
  await box.evaluate(element => element.scrollIntoView());
  await page.waitForSelector(`.panel.moves[data-src*="/${panel}.html"]`);
  return {box, frame: page.frames().find(each => each.url().includes(`/bare/${panel}.html`))};
}

async function inLesson(panel, settings) {
  const opened = await open(`chapters/${places[panel].lesson}/index.html`, settings);
  return {...opened, ...await frameOn(opened.page, panel)};
}

test('every panel has its place', () => assert.deepEqual(Object.keys(places).sort(), panels));

for (const panel of panels) {
  for (const [width, colorScheme] of [[1440, 'light'], [1366, 'dark'], [1024, 'light'], [390, 'dark']]) {
    test(`${panel}, ${width} px, ${colorScheme}: it runs in the section that it explains, as high as it is and not too wide`, options, async () => {
      const {page, complaints, box, frame, close} = await inLesson(panel, {width, colorScheme});
      const section = await box.evaluate(element => {
        while (element && !/^H[23]$/.test(element.tagName)) element = element.previousElementSibling;
        return element?.id;
      });
      assert.equal(section, places[panel].section);
      assert.equal(await box.locator('a:has(img)').isVisible(), false);
      const place = await box.locator('iframe').boundingBox();
      assert.ok(place.x >= 0 && place.x + place.width <= width && place.width >= Math.min(width - 40, 640), JSON.stringify(place));
      const inside = await frame.evaluate(() => ({whole: document.documentElement.scrollWidth, shown: innerWidth, height: document.body.offsetHeight}));
      assert.ok(inside.whole <= inside.shown, JSON.stringify(inside));
      assert.ok(Math.abs(place.height - 2 - inside.height) <= 1, `${place.height} for ${inside.height}`);
      assert.deepEqual(await problemsOf(page), []);
      assert.deepEqual(await problemsOf(page, frame), []);
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  test(`${panel}: Tab leads from the lesson to the panel's question, which Enter answers`, options, async () => {
    const {page, box, frame, close} = await inLesson(panel);
    await box.evaluate(element => {  // the last link before the panel
      [...document.querySelectorAll('main a, main pre')].filter(each => each.compareDocumentPosition(element) === Node.DOCUMENT_POSITION_FOLLOWING).at(-1).focus();
    });
    const focused = () => frame.evaluate(() => document.activeElement.id);
    for (let i = 0; i < 8 && await focused() !== 'question-show'; ++i) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.match(await frame.textContent('#question-said'), /\d.*\.$/);
    assert.equal(await focused(), 'question-said');
    assert.deepEqual(await problemsOf(page, frame), []);
    await close();
  });

  test(`${panel}: follows the site's switch, and grows when its folded part is opened`, options, async () => {
    const {page, box, frame, close} = await inLesson(panel);
    const colour = () => frame.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await colour(), low = (await box.boundingBox()).height;
    await page.click('button.theme');
    await frame.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
    assert.notEqual(await colour(), light);
    await frame.press('main > details > summary', 'Enter');
    await page.waitForFunction(([name, height]) => document.querySelector(`.panel[data-src*="/${name}.html"]`).offsetHeight > height + 100, [panel, low]);
    await close();
  });

  test(`${panel}: without JavaScript the lesson shows a small still picture that leads to the panel`, options, async () => {
    const {page, close} = await open(`chapters/${places[panel].lesson}/index.html`, {javaScriptEnabled: false});
    const still = page.locator(`.panel[data-src*="/${panel}.html"] > a`);
    assert.equal(await still.isVisible(), true);
    assert.match(await still.getAttribute('href'), new RegExp(`panels/${panel}\\.html$`));
    for (const image of await still.locator('img').all()) {
      assert.ok((await image.getAttribute('alt')).length > 40);
      assert.ok(fs.statSync(path.join(site, 'docs/site/panels', path.basename(await image.getAttribute('src')))).size < 60000);
    }
    await close();
  });

  for (const [width, colorScheme] of [[1440, 'dark'], [390, 'light']]) {
    test(`${panel}, ${width} px: its own page has the site's header, neighbours, and the whole panel`, options, async () => {
      const {page, complaints, close} = await open(`panels/${panel}.html`, {width, colorScheme});
      const {frame} = await frameOn(page, panel);
      for (const wanted of ['header.top button.theme', '#search-field', '.turn a', 'h1']) assert.ok(await page.isVisible(wanted), wanted);
      assert.match(await page.getAttribute('.eyebrow a', 'href'), new RegExp(`${places[panel].lesson}/index\\.html#${places[panel].section}$`));
      assert.equal(await frame.isVisible('.notice'), true);
      assert.deepEqual([...await problemsOf(page), ...await problemsOf(page, frame)], []);
      assert.deepEqual(complaints, []);
      await close();
    });
  }
}

for (const width of [1440, 390]) {
  test(`a link to a section below two panels leads there, and stays there while they grow, ${width} px`, options, async () => {
    for (const id of ['how-well-it-scales', 'a-step-in-parts']) {
      const {page, close} = await open(`chapters/06_gpt_ddp/index.html#${id}`, {width});
      await page.waitForTimeout(1000);
      const top = await page.evaluate(name => document.getElementById(name).getBoundingClientRect().top, id);
      assert.ok(top > 40 && top < 120, `${id} is at ${top}`);
      await close();
    }
  });
}

test('the search finds each panel by its name and by its ideas; its lesson lists it', options, async () => {
  const {page, close} = await open('index.html');
  const index = fs.readFileSync(path.join(site, 'search_index.js'), 'utf8');
  for (const [panel, {lesson, ideas}] of Object.entries(places)) {
    const title = new RegExp(`"panels/${panel}\\.html","Moving pictures","([^"]+)"`).exec(index)[1];
    for (const words of [title, ...ideas]) {
      await page.fill('#search-field', words);
      await page.waitForFunction(name => [...document.querySelectorAll('#results a')].some(link => link.href.endsWith(`panels/${name}.html`)), panel,
                                 {timeout: 10000}).catch(() => assert.fail(`"${words}" does not find ${panel}`));
    }
    const text = fs.readFileSync(path.join(site, 'chapters', lesson, 'index.html'), 'utf8');
    assert.match(text.slice(text.indexOf('With this chapter')), new RegExp(`panels/${panel}\\.html`));
  }
  await close();
});
