// Pictures of validations over time, the worst samples, and the confusion matrix.

const image = (sample, src, alt) => el('img', {src: src.startsWith('data:') ? src : address(src), alt, loading: 'lazy',
                                               class: sample.width < 160 ? 'small' : ''});

/** A picture that the net made, or was to make. */
const made = (sample, src, what) => src && [el('div', {class: 'made'}, what),
  el('div', {class: 'picture'}, image(sample, src, `${what} of sample ${sample.id}`))];

/** Predicted boxes below this score would cover the picture. */
const leastScore = 0.3;
const isShown = box => box.truth || !isNumber(box.score) || box.score >= leastScore;

/** A picture with its boxes over it: true ones dashed, predicted ones solid. */
function picture(sample) {
  if (!sample.src) return sample.prediction_src || sample.fields || isText(sample) ? null : el('div', {class: 'nopicture'}, 'no picture');
  const boxes = (sample.boxes || []).filter(box =>
    isShown(box) && ['x1', 'y1', 'x2', 'y2'].every(side => isNumber(box[side])));
  const size = Math.max(8, sample.width / 14);
  return el('div', {class: 'picture'},
    image(sample, sample.src, `sample ${sample.id}, labelled ${words(sample.label)}`),
    boxes.length === 0 ? null : drawn('svg', {viewBox: `0 0 ${sample.width} ${sample.height}`, 'aria-hidden': 'true'},
      boxes.map(box => drawn('g', {class: box.truth ? 'truth' : 'found'},
        drawn('rect', {x: box.x1, y: box.y1, width: box.x2 - box.x1, height: box.y2 - box.y1}),
        drawn('text', {x: box.x1 + 2, y: Math.max(size, box.y1 - 2), 'font-size': size},
              words(box.label) + (!box.truth && isNumber(box.score) ? ` ${percent(box.score)}` : ''))))));
}

const words = value => value === null || value === undefined ? '–' : Array.isArray(value) ? value.join(', ') :
  typeof value === 'object' ? JSON.stringify(value) : String(value);

/** The text of a net and the true one: words that were left out or replaced, and those that were put in. */
const isText = sample => sample.hypothesis !== undefined;
const marked = line => words(line).split(/(\[-.*?-\]|\{\+.*?\+\})/).map(part =>
  /^\[-.*-\]$/.test(part) ? el('del', {}, part.slice(2, -2)) :
  /^\{\+.*\+\}$/.test(part) ? el('ins', {}, part.slice(2, -2)) : part);
const numberOf = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
const textOf = sample => isText(sample) && [['reference', words(sample.reference)], ['hypothesis', words(sample.hypothesis)],
                                           ['alignment', marked(sample.alignment)]].map(([name, text]) =>
  el('div', {class: 'field'}, el('b', {}, name), ' ', text));

/** A field beside the picture: its text, its picture, its sound. */
const fieldOf = (sample, field) => [
  field.sound_src && el('audio', {controls: '', preload: 'none', 'aria-label': `${words(field.name)} of sample ${sample.id}`,
    src: field.sound_src.startsWith('data:') ? field.sound_src : address(field.sound_src)}),
  field.src && el('div', {class: 'picture'}, image(field, field.src, `${words(field.name)} of sample ${sample.id}`)),
  el('div', {class: 'field'}, el('b', {}, words(field.name)), ' ', field.text === undefined ? '' : words(field.text))];

/** A picture with what is known of it. */
function card(sample) {
  const hasBoxes = (sample.boxes || []).length > 0;
  const judged = !hasBoxes && sample.label !== undefined && sample.prediction !== undefined;
  const right = judged && words(sample.label) === words(sample.prediction);
  const found = (sample.boxes || []).filter(box => !box.truth && isShown(box));
  const truth = (sample.boxes || []).filter(box => box.truth);
  return el('figure', {class: 'card'}, picture(sample), made(sample, sample.prediction_src, 'prediction'),
            made(sample, sample.label_src, 'label'), textOf(sample), (sample.fields || []).map(field => fieldOf(sample, field)),
            el('figcaption', {},
    judged ? el('div', {class: right ? 'right' : 'wrong'}, right ? '✓ ' : '✗ ', words(sample.prediction),
                isNumber(sample.score) ? ` ${percent(sample.score)}` : '') : null,
    judged && !right ? el('div', {}, 'is ', words(sample.label)) : null,
    hasBoxes ? el('div', {}, `${found.length} found above ${percent(leastScore)}, ${truth.length} true`) : null,
    isText(sample) ? el('div', {class: sample.edits === 0 ? 'right' : 'wrong'}, sample.edits === 0 ? '✓ right' :
      `✗ ${numberOf(sample.edits, 'edit')} in ${numberOf(sample.words, 'word')}`) : null,
    isNumber(sample.loss) ? el('div', {class: 'muted'}, `loss ${metric(sample.loss)}`) : null));
}

/** Boxes and texts need wider cards. */
const cardsOf = samples => samples.some(sample => (sample.boxes || []).length > 0 || sample.fields || isText(sample)) ?
  'cards large' : 'cards';

/** The sets that have such a list of samples, by name, with their validations. */
function setsOf(run, list) {
  const sets = new Map();
  for (const each of run.pictures) {
    if ((each[list] || []).length === 0) continue;
    if (!sets.has(each.set)) sets.set(each.set, []);
    sets.get(each.set).push(each);
  }
  return [...sets];
}

const picturesOf = run => setsOf(run, 'samples').map(([set, all], i, sets) =>
  [sets.length > 1 && el('h3', {}, words(set)), picturesOfSet(all, `pictures-${i}`)]);

function picturesOfSet(all, id) {
  const boxes = all.some(each => each.samples.some(sample => (sample.boxes || []).length > 0));
  const cards = el('div', {class: cardsOf(all.flatMap(each => each.samples))});
  const label = el('output', {});
  const slider = el('input', {type: 'range', min: 0, max: all.length - 1, step: 1, id,
                              oninput: () => show()});
  const chosen = shared.pictures.get(id);
  slider.value = chosen === undefined ? all.length - 1 : Math.min(chosen, all.length - 1);
  const show = () => {
    const at = Number(slider.value);
    shared.pictures.set(id, at === all.length - 1 ? undefined : at);
    label.textContent = `iteration ${count(all[at].iter)} (${at + 1} of ${all.length})`;
    slider.setAttribute('aria-valuetext', label.textContent);
    cards.replaceChildren(...all[at].samples.map(card));
  };
  show();
  const step = by => el('button', {type: 'button', 'aria-label': by < 0 ? 'earlier' : 'later', onclick: () => {
    slider.value = Number(slider.value) + by;
    show();
  }}, by < 0 ? '◀' : '▶');
  return el('div', {}, all.length > 1 ?
    el('div', {class: 'chooser'}, step(-1), el('label', {for: id, class: 'unseen'}, 'Validation'), slider,
       step(1), label) : el('p', {class: 'muted'}, label),
    boxes ? el('p', {class: 'muted'}, 'Solid boxes are predictions, dashed ones are true.') : null, cards);
}

const worstOf = run => setsOf(run, 'worst').map(([set, all], i, sets) => {
  const newest = all[all.length - 1];
  return el('div', {}, el('p', {class: 'muted'}, `Of the validation at iteration ${count(newest.iter)}` +
                          (sets.length > 1 ? `, ${words(set)}.` : '.')),
            el('div', {class: cardsOf(newest.worst)}, newest.worst.map(card)));
});

/** Rows are labels, columns predictions. Of many classes only the pairs that are confused most. */
function confusionOf(run) {
  if (!run.confusion) return null;
  const {classes, rows} = run.confusion;
  const sums = rows.map(row => row.reduce((a, b) => a + b, 0));
  const pairs = [];
  rows.forEach((row, label) => row.forEach((n, prediction) => {
    if (label !== prediction && n > 0) pairs.push({label, prediction, n});
  }));
  pairs.sort((a, b) => b.n - a.n);
  const most = el('div', {}, el('h3', {}, 'Most confused'), pairs.length === 0 ? el('p', {}, 'Nothing was confused.') :
    table('Most confused classes', ['label', 'taken for', 'times', 'of the label'], pairs.slice(0, 10).map(pair =>
      [classes[pair.label], classes[pair.prediction], count(pair.n), percent(pair.n / sums[pair.label])])));
  if (classes.length > 40) return most;
  const greatest = Math.max(1, ...rows.flat());
  const cell = (n, label, prediction) => {
    const share = sums[label] ? n / sums[label] : 0;
    return el('td', {class: label === prediction ? 'hit' : n > 0 ? 'miss' : 'none',
                     style: `--share: ${share.toFixed(3)}`,
                     title: `${classes[label]} taken for ${classes[prediction]}: ${count(n)} (${percent(share)})`},
              n > 0 ? String(n) : '·');
  };
  const scroll = {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Confusion'};
  return el('div', {class: 'columns'}, el('div', scroll,
    el('table', {class: 'confusion'}, el('caption', {}, 'Rows: labels. Columns: predictions.'),
      el('thead', {}, el('tr', {}, el('th', {}), classes.map(name => el('th', {scope: 'col', title: name},
        el('span', {}, name))))),
      el('tbody', {}, rows.map((row, label) => el('tr', {}, el('th', {scope: 'row'}, classes[label]),
        row.map((n, prediction) => cell(n, label, prediction))))))), most);
}
