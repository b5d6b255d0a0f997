// Opens panels and other pages in the system's Chromium, from files, as a reader without a server does.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {chromium} = require('playwright-core');

const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const root = path.resolve(__dirname, '..', '..');
const panelFolder = path.join(root, 'docs', 'site', 'panels');
const panels = fs.readdirSync(panelFolder).filter(name => name.endsWith('.html')).map(name => name.slice(0, -5)).sort();

const chromiumPath = () => process.env.LOCKSTEP_CHROMIUM ||
    ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(each => fs.existsSync(each));

async function launch() {
  return chromium.launch({executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-dev-shm-usage']});
}

// A page with what is at `url`, and the list of everything it complained about or asked of the network.
async function visit(browser, url, {width = 1280, height = 900, colorScheme = 'light', reducedMotion = 'reduce', ...rest} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme, reducedMotion, ...rest});
  context.setDefaultTimeout(90_000);  // a busy machine may need longer than half a minute to load a page
  const page = await context.newPage();
  const complaints = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('request', request => { if (!request.url().startsWith('file:')) complaints.push(`asked for ${request.url()}`); });
  page.on('requestfailed', request => complaints.push(`failed: ${request.url()}`));
  await page.goto(url);
  return {page, complaints, close: () => context.close()};
}

// Another screen for a page that is open: it is laid out and coloured anew, not loaded.
async function show(page, {width, colorScheme}) {
  await page.setViewportSize({width, height: page.viewportSize().height});
  await page.emulateMedia({colorScheme});
}

async function open(browser, panel, options) {
  return visit(browser, pathToFileURL(path.join(panelFolder, `${panel}.html`)).href, options);
}

// Types a value into the number field of a control.
async function type(page, id, value) {
  await page.fill(`#${id}-value`, String(value));
}

// How wide the page is if that is more than the screen, else 0.
async function excessWidth(page) {
  const {width} = page.viewportSize(), [whole, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  return whole > width || shown !== width ? whole : 0;
}

// Rules of accessibility that the page breaks (a second or two for a long page), and its width if that is more than the
// screen. Or the rules that a frame of the page breaks.
async function problemsOf(page, frame = page.mainFrame()) {
  if (!await frame.evaluate(() => Boolean(globalThis.axe))) await frame.evaluate(axe);
  const problems = await frame.evaluate(async () => {
    const {violations} = await globalThis.axe.run(document, {preload: false, iframes: false, resultTypes: ['violations']});
    return violations.map(({id, nodes}) => `${id}: ${nodes.map(node => node.target.join(' ')).join('; ')}`);
  });
  const width = frame === page.mainFrame() ? await excessWidth(page) : 0;
  if (width > 0) problems.push(`the page is ${width} px wide`);
  return problems;
}

// The same for what a panel shows after `prepare(page)`, on a phone and on a desk, light and dark.
async function problemsWith(browser, panel, prepare) {
  const problems = [];
  for (const width of [390, 1280]) {
    const {page, complaints, close} = await open(browser, panel, {width});
    await prepare(page);
    for (const colorScheme of ['light', 'dark']) {
      await show(page, {width, colorScheme});
      problems.push(...await problemsOf(page));
    }
    problems.push(...complaints);
    await close();
  }
  return problems;
}

module.exports = {launch, visit, show, open, type, excessWidth, problemsOf, problemsWith, panels, panelFolder, root, chromiumPath};
