// NODE_PATH=build/web/node_modules node tests/web/screenshots.js FOLDER [panel...]: every panel at desktop and phone width, light and dark, to be looked at.
'use strict';

const path = require('node:path');
const {launch, open, panels} = require('./browser.js');

(async () => {
  const [folder, ...chosen] = process.argv.slice(2);
  const browser = await launch();
  for (const panel of chosen.length ? chosen : panels) {
    for (const width of [1280, 390]) {
      for (const colorScheme of ['light', 'dark']) {
        const {page, complaints, close} = await open(browser, panel, {width, colorScheme});
        if (process.env.BEFORE) await page.evaluate(process.env.BEFORE);
        await page.screenshot({path: path.join(folder, `${panel}_${width}_${colorScheme}.png`), fullPage: true});
        if (complaints.length) console.log(panel, width, colorScheme, complaints);
        await close();
      }
    }
  }
  await browser.close();
})();
