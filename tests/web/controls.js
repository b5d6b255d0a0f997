// Sets a panel's controls within its page, which is much faster than a keyboard and a mouse; those have tests of their own.
'use strict';

// Number fields and choices, by their ids.
async function set(page, values) {
  await page.evaluate(all => {
    for (const [id, value] of Object.entries(all)) {
      const control = document.getElementById(`${id}-value`) ?? document.getElementById(id);
      control.value = value;
      if (control.value !== String(value)) throw new Error(`${id} does not take ${value}`);
      control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}));
    }
  }, values);
}

module.exports = {set};
