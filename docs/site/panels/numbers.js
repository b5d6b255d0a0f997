// Numbers as the C++ programs print them (common/base/terminal.hpp and link_budget.cpp). Pure: a page and node load it.
'use strict';

(function () {
  const kMostDigits = 100;  // what toFixed accepts

  // A fixed number of digits behind the point. Like printf, and unlike toFixed, a tie goes to the even digit: 3.125 with
  // 2 digits is 3.12.
  function withDigits(value, digits) {
    if (!Number.isFinite(value)) return String(value);
    const rounded = value.toFixed(digits);
    const exact = value.toFixed(Math.min(kMostDigits, digits + 30));
    const point = exact.indexOf('.');
    const rest = exact.slice(point + 1 + digits);
    if (!/^50*$/.test(rest)) return rounded;
    const cut = digits === 0 ? exact.slice(0, point) : exact.slice(0, point + 1 + digits);
    const isEven = Number(cut[cut.length - 1]) % 2 === 0;
    if (isEven) return cut;
    const unit = 10 ** -digits;
    return (Number(cut) + Math.sign(value) * unit).toFixed(digits);
  }

  // What C++ streams print by default: six digits that matter, without zeros at the end ("5.88e+21", "0.4", "140").
  function general(value) {
    if (value === 0) return '0';
    const [mantissa, exponent] = value.toExponential(5).split('e');
    const power = Number(exponent);
    const trim = text => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
    if (power >= -4 && power < 6) return trim(value.toFixed(5 - power));
    const sign = power < 0 ? '-' : '+';
    return `${trim(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
  }

  // Three digits that matter: "0.33", "6.25", "106".
  function shortNumber(value) {
    return withDigits(value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4);
  }

  // A share in percent, with a digit behind the point where it is below 1 %.
  function percent(share) {
    return `${withDigits(100 * share, share < 0.01 ? 1 : 0)} %`;
  }

  // Bytes for people: "512 B", "25.0 MB" (10^6).
  function readableBytes(bytes) {
    const units = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'KB']];
    for (const [unit, name] of units) {
      if (bytes >= unit) return `${shortNumber(bytes / unit)} ${name}`;
    }
    return `${withDigits(bytes, Number.isInteger(bytes) ? 0 : 1)} B`;
  }

  // The same in units of 1024: "1 KiB" is 1024 B.
  function readableBinary(bytes) {
    const units = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']];
    for (const [unit, name] of units) {
      if (bytes >= unit) return `${shortNumber(bytes / unit)} ${name}`;
    }
    return `${withDigits(bytes, Number.isInteger(bytes) ? 0 : 1)} B`;
  }

  // A time for people: "17.5 µs", "9.56 ms".
  function readableTime(seconds) {
    if (seconds === 0) return '0 µs';
    if (seconds < 1e-3) return `${shortNumber(seconds * 1e6)} µs`;
    if (seconds < 1) return `${shortNumber(seconds * 1e3)} ms`;
    return `${shortNumber(seconds)} s`;
  }

  const api = {withDigits, general, shortNumber, percent, readableBytes, readableBinary, readableTime};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).numbers = api;
})();
