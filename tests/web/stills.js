// The still pictures of the panels, docs/site/panels/NAME.svg, which lessons show where a panel cannot run:
//   NODE_PATH=build/web/node_modules node tests/web/stills.js [panel...]
// Each is drawn by its panel, with the panel's own rules of style, for light and for dark.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const {launch, open, panelFolder} = require('./browser.js');

// The panel's picture of each topology in the middle of an all-reduce, side by side.
async function oneOfEachTopology(page) {
  await page.evaluate(() => {
    const {el, byId} = Lockstep.ui, {topologies} = Lockstep.collectiveModel, kShare = 0.35;
    const choose = (id, value, event) => { byId(id).value = value; byId(id).dispatchEvent(new Event(event)); };
    byId('picture').after(el('div', {id: 'topologies'}, topologies.map(([key, name]) => {
      choose('topology', key, 'change');
      choose('scrub', kShare * byId('scrub').max, 'input');
      return el('figure', {}, el('strong', {}, name), byId('picture').firstChild.cloneNode(true));
    })));
  });
}

// What to do before, and the drawings: [what selects them, columns, and their legend].
const stills = {
  ring: {prepare: oneOfEachTopology, drawings: ['#topologies svg', 4]},
  step_together: {prepare: page => page.click('#next'), drawings: ['#replicas section svg:first-of-type', 4]},
  overlap: {drawings: ['#timeline svg', 1, '#legend li']},
  budgets: {drawings: ['#memory-picture svg', 1, '#memory-legend li']},
  warp: {drawings: ['#sectors svg', 1]},
  sharded: {prepare: async page => { await page.selectOption('#stage', '3'); await page.uncheck('#one-scale'); await page.fill('#scrub', '20'); },
            drawings: ['#chart svg', 1, '#legend li']},
  tensor_block: {prepare: async page => { await page.check('#sequence'); await page.fill('#scrub', '5'); }, drawings: ['#chart svg', 1]},
  pipeline: {prepare: page => page.fill('#scrub', '440'), drawings: ['#chart svg', 1, '#legend li']},
  grid: {prepare: async page => { for (const [id, value] of [['ranks', 16], ['tensor', 4], ['per-host', 8]]) await page.fill(`#${id}-value`, String(value)); },
         drawings: ['#chart svg', 1, '#legend li']},
};

// In the page: one SVG of all drawings below a title, with the rules that its elements need.
function compose([selector, columns, legend]) {
  const svg = (tag, attributes, ...children) => Lockstep.ui.svg(tag, attributes, ...children);
  const kWidth = 1000, kGap = 16, kTop = 44;
  const found = [...document.querySelectorAll(selector)], each = (kWidth - kGap * (columns - 1)) / columns;
  const picture = svg('svg', {xmlns: 'http://www.w3.org/2000/svg', role: 'img'});
  picture.append(svg('path', {class: 'play', d: 'M4 8 L22 18 L4 28 Z'}), svg('text', {class: 'still-title', x: 32, y: 24}, document.querySelector('h1').textContent),
                 svg('text', {class: 'soft', x: kWidth - 2, y: 23, 'text-anchor': 'end'}, 'a moving picture: open it to try'));
  let bottom = kTop;
  found.forEach((drawing, i) => {
    const {width, height} = drawing.viewBox.baseVal, caption = drawing.closest('figure, section.card')?.querySelector('strong, h3')?.firstChild.textContent;
    const x = (i % columns) * (each + kGap), top = kTop + (caption ? 22 : 0);
    if (caption) picture.append(svg('text', {x, y: kTop + 12}, caption));
    const copy = drawing.cloneNode(true), scale = Math.min(each / width, 1.4);
    for (const [name, value] of Object.entries({x, y: top, width: width * scale, height: height * scale})) copy.setAttribute(name, value.toFixed(1));
    for (const part of [copy, ...copy.querySelectorAll('[role]')]) for (const name of ['role', 'aria-label', 'aria-checked', 'tabindex']) part.removeAttribute(name);
    picture.append(copy);
    bottom = Math.max(bottom, top + height * scale);
  });
  let left = 0;
  for (const item of legend ? document.querySelectorAll(legend) : []) {
    const swatch = item.querySelector('.swatch'), colour = swatch.style.background, width = 44 + 7.6 * item.textContent.length;  // with any font
    if (left + width > kWidth) [left, bottom] = [0, bottom + 22];
    picture.append(svg('rect', {class: swatch.className.replace('-key', ''), style: colour && `fill: ${colour}`, x: left + 1, y: bottom + 9, width: 13, height: 13, rx: 3}),
                   svg('text', {class: 'soft', x: left + 21, y: bottom + 20}, item.textContent));
    left += width;
  }
  if (legend) bottom += 24;
  picture.setAttribute('viewBox', `0 0 ${kWidth} ${Math.ceil(bottom + 6)}`);
  document.querySelector('main').append(picture);
  const rules = [...document.styleSheets].filter(sheet => sheet.href === null).flatMap(sheet => [...sheet.cssRules]).filter(rule => rule.selectorText && rule.selectorText !== 'svg' && rule.selectorText !== '*' &&
      picture.querySelector(rule.selectorText)).map(rule => rule.cssText);
  const style = [...rules, '.play { fill: var(--accent); }', 'svg .still-title { font-size: 19px; font-weight: 650; }'].join('\n');
  picture.remove();
  return {style, text: picture.outerHTML, names: [...new Set((style + picture.outerHTML).match(/--[\w-]+/g))].filter(name => name !== '--c')};
}

async function still(browser, panel) {
  const {page, close} = await open(browser, panel);
  await stills[panel].prepare?.(page);
  for (const name of ['panels', panel]) {  // once more: scripts may not read the rules of files
    await page.addStyleTag({content: fs.readFileSync(path.join(panelFolder, `${name}.css`), 'utf8')});
  }
  const {style, text, names} = await page.evaluate(compose, stills[panel].drawings);
  const colours = async colorScheme => {
    await page.emulateMedia({colorScheme});
    const values = await page.evaluate(all => all.map(name => `${name}: ${getComputedStyle(document.documentElement).getPropertyValue(name).trim()}`), names);
    return `svg { ${values.join('; ')} }`;
  };
  const [light, dark] = [await colours('light'), await colours('dark')];
  await close();
  const [, open_, rest] = /^(<svg [^>]*>)(.*)$/s.exec(text);
  return `${open_}\n<style>\n${light}\n@media (prefers-color-scheme: dark) { ${dark} }\n${style}\n</style>\n${rest.replace(/(\d+\.\d{2})\d+/g, '$1').replaceAll('><', '>\n<')}\n`;
}

module.exports = {still, stills};

if (require.main === module) {
  (async () => {
    const chosen = process.argv.slice(2), browser = await launch();
    for (const panel of chosen.length ? chosen : Object.keys(stills)) {
      fs.writeFileSync(path.join(panelFolder, `${panel}.svg`), await still(browser, panel));
    }
    await browser.close();
  })();
}
