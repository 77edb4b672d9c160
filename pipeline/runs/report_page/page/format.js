// Elements, and numbers as people read them. All texts of files become text nodes, so none of them can be markup.

const svgSpace = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(2)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An element: el('p', {class: 'note', onclick: f}, 'text', otherElement). */
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** An element of a drawing. */
const drawn = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(svgSpace, tag), attributes, children);

const isNumber = value => typeof value === 'number' && Number.isFinite(value);

/** Four digits: "0.05", "1,294", "1.2e-5"; "–" for no number. */
function number(value) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2).replace(/\.?0*e\+?/, 'e');
  if (size >= 1000 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(4)));
}

/** A loss or a metric, as the program writes it: "0.9830"; in scientific notation below 0.001 and from 1,000 on. */
function metric(value) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e3)) return value.toFixed(4);
  return value.toExponential(3).replace(/([+-])(\d)$/, '$10$2');
}

const count = value => isNumber(value) ? Math.round(value).toLocaleString('en-US') : '–';

const percent = share => !isNumber(share) ? '–' : share > 0 && share < 1e-4 ? '<\u00a00.01\u00a0%' :
  (share < 0.1 && share > 0 ? (100 * share).toFixed(2) : Number((100 * share).toPrecision(3))) + '\u00a0%';

/** Seconds: "850 µs", "12.3 ms", "4.2 s", "1m15s", "2h03m". */
function duration(seconds) {
  if (!isNumber(seconds)) return '–';
  const two = value => String(Math.floor(value)).padStart(2, '0');
  if (seconds < 0) return '–';
  if (seconds === 0) return '0\u00a0s';
  if (seconds < 1e-3) return Number((seconds * 1e6).toPrecision(3)) + '\u00a0µs';
  if (seconds < 1) return Number((seconds * 1e3).toPrecision(3)) + '\u00a0ms';
  if (seconds < 60) return Number(seconds.toPrecision(3)) + '\u00a0s';
  if (seconds < 3600) return Math.floor(seconds / 60) + 'm' + two(seconds % 60) + 's';
  if (seconds < 86400) return Math.floor(seconds / 3600) + 'h' + two(seconds % 3600 / 60) + 'm';
  return Math.floor(seconds / 86400) + 'd' + two(seconds % 86400 / 3600) + 'h';
}

const megabytes = value => !isNumber(value) ? '–' :
  value >= 1000 ? Number((value / 1000).toPrecision(3)) + '\u00a0GB' : Number(value.toPrecision(3)) + '\u00a0MB';

/** A path as an address: each part encoded, so that '#' and '?' are part of names. */
const address = path => path.split('/').map(encodeURIComponent).join('/');

/** A button that copies `text`. */
function copyButton(text) {
  const button = el('button', {type: 'button', onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page of a file may not
      const field = el('textarea', {class: 'unseen'}, text);
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    button.textContent = 'Copied';
    announce('Copied');
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }}, 'Copy');
  return button;
}

/** Lets a screen reader say it. */
function announce(text) { document.getElementById('said').textContent = text; }

/** A table of rows; the first cell of each is its heading. */
function table(caption, heads, rows, attributes = {}) {
  const cells = row => row.map((cell, i) =>
    el(i === 0 ? 'th' : 'td', i === 0 ? {scope: 'row'} : {}, cell));
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
            el('table', attributes, el('caption', {class: 'unseen'}, caption),
               el('thead', {}, el('tr', {}, heads.map(head => el('th', {scope: 'col'}, head)))),
               el('tbody', {}, rows.map(row => el('tr', {}, cells(row))))));
}
