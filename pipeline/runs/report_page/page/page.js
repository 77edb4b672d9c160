// Puts the page together, and keeps it where new data comes in.

const statusWords = {running: '▶\u00a0running', done: '✓\u00a0done', stopped: '■\u00a0stopped early',
                     interrupted: '‖\u00a0interrupted', failed: '✗\u00a0failed'};
const statusText = run => statusWords[run.status.state] || run.status.state;
const secondsOf = run => isNumber(run.status.seconds) ? run.status.seconds : run.train.newest.elapsed_s;
const lastIteration = run => run.graph && isNumber(run.graph.last_iteration) ? run.graph.last_iteration : null;

/** What limited the run, in one sentence. */
function verdictText(run) {
  if (run.verdict && run.verdict.text) return run.verdict.text;
  const limit = limitOf(run);
  if (limit) return `Now ${limit.stage} limits (${percent(limit.share)} of the time).`;
  const wait = dataWaitOf(run);
  return isNumber(wait) ? `The net waited for data ${percent(wait)} of the time.` : '';
}

/** Names between backticks stand out. */
const withNames = text => text.split('`').map((part, i) => i % 2 ? el('code', {}, part) : part);

/** Samples a second: of a run that goes on, now; else of the whole run. */
function speedTile(run) {
  const whole = speedOf(run), now = run.train.newest.samples_per_s;
  if (run.status.state !== 'running' && isNumber(whole)) return tile('speed', number(whole), 'samples/s, whole run');
  return isNumber(now) && tile('speed', number(now), 'samples/s, now');
}

function progressText(run) {
  const last = lastIteration(run), {iter} = run.status;
  return some([last && last !== iter && `of ${count(last)}`,
               run.iterations_per_epoch > 0 && `epoch ${(iter / run.iterations_per_epoch).toFixed(2)}`]).join(', ');
}

/** Time that is left, of a run that goes on. */
function restText(run) {
  const last = lastIteration(run), seconds = run.train.newest.elapsed_s, {iter} = run.status;
  if (run.status.state !== 'running' || !last || !isNumber(seconds) || iter === 0) return null;
  return duration(seconds / iter * (last - iter));
}

function tile(name, value, more) {
  return el('div', {class: 'tile'}, el('dt', {}, name), el('dd', {}, value, more ? el('small', {}, more) : null));
}

function bestTiles(run) {
  return run.best.map(best => tile(`best ${best.metric}`, metric(best.value), [
    `iteration ${count(best.iter)} `, best.snapshot ?
      el('a', {href: address(run.link + best.snapshot)}, best.snapshot) : null]));
}

function ageText(run) {
  const written = new Date(run.written_ms), minutes = (Date.now() - run.written_ms) / 60000;
  const time = `As of ${written.toLocaleString()}.`;
  if (run.status.state !== 'running') return time;
  return minutes > 10 ? `${time} The run went on then, ${duration(60 * minutes)} ago; ` +
    `flowtrain report ${run.path} makes this page anew.` : `${time} Reload the page for newer values.`;
}

/** What `draw` makes; a sentence where it fails, as damaged data of one part must not cost the others. */
function attempt(draw) {
  try {
    return draw();
  } catch (error) {
    return el('p', {class: 'muted broken'}, `This part cannot be drawn (${error.message}).`);
  }
}

/** A section of charts; of that sentence where the data make none. */
function chartSection(id, title, make) {
  const charts = attempt(make);
  return Array.isArray(charts) ? {id, title, charts} : {id, title, data: charts.textContent, body: () => charts};
}

function headOf(run) {
  const rest = restText(run), wait = dataWaitOf(run);
  return [
    el('div', {class: 'titleline'}, el('h1', {}, run.name), el('span', {class: 'status ' + run.status.state},
                                                               statusText(run))),
    el('p', {class: 'verdict'}, withNames(some([verdictText(run), run.status.why && `${run.status.why}.`]).join(' '))),
    el('dl', {class: 'tiles'}, some([
      tile('iteration', count(run.status.iter), progressText(run)),
      tile('time', duration(secondsOf(run)), rest ? `${rest} left` : null),
      ...bestTiles(run),
      isNumber(run.train.newest.loss) && tile('loss', metric(run.train.newest.loss), 'training, newest'),
      speedTile(run),
      isNumber(wait) && tile('data wait', percent(wait), 'of the time'),
    ])),
    el('p', {class: 'muted age'}, ageText(run)),
  ];
}

function comparisonHead(runs) {
  return [el('h1', {}, `Comparison of ${runs.length} runs`), el('p', {class: 'muted age'},
             `As of ${new Date(runs[0].written_ms).toLocaleString()}.`)];
}

/** The sections: {id, title, charts} or {id, title, data, body}: what is drawn from `data` by body(). */
function sectionsOf(runs, differences) {
  if (runs.length > 1) {
    const charts = comparedCharts(runs);
    return [
      {id: 'runs', title: 'Runs', data: runs.map(run => run.status), body: () => comparisonTable(runs)},
      {id: 'differences', title: 'Keys that differ', data: differences, body: () => differenceTable(runs, differences)},
      {id: 'loss', title: 'Loss', charts: charts.loss},
      {id: 'metrics', title: 'Metrics', charts: charts.metrics},
      {id: 'optimizer', title: 'Learning rate and gradients', charts: charts.optimizer},
      {id: 'time', title: 'Time', charts: charts.time},
      {id: 'reproduce', title: 'Reproduce', data: 0, body: () => runs.map(run =>
        el('details', {class: 'run'}, el('summary', {}, run.label), reproduction(run)))},
    ];
  }
  const run = runs[0];
  const hasPictures = list => setsOf(run, list).length > 0;
  return [
    chartSection('loss', 'Loss', () => lossCharts(run)),
    chartSection('optimizer', 'Learning rate and gradients', () => optimizerCharts(run)),
    chartSection('metrics', 'Metrics', () => metricCharts(run)),
    chartSection('time', 'Time', () => timeCharts(run)),
    chartSection('other', 'Other values', () => otherCharts(run)),
    run.graph && run.graph.nodes.length > 0 && {
      id: 'graph', title: 'Graph', data: [run.graph, run.train.newest, run.verdict],
      body: () => [el('p', {class: 'muted'}, 'Doubled frames are threads of their own; the others run on the workers.'),
                   graphDrawing(run)]},
    hasPictures('samples') &&
      {id: 'pictures', title: 'Validation pictures', data: run.pictures, body: () => picturesOf(run)},
    hasPictures('worst') && {id: 'worst', title: 'Worst samples', data: run.pictures, body: () => worstOf(run)},
    run.samples && {id: 'texts', title: 'Texts of the net', data: run.samples, body: () => textsOf(run)},
    run.confusion && {id: 'confusion', title: 'Confusion', data: run.confusion, body: () => confusionOf(run)},
    {id: 'reproduce', title: 'Reproduce', data: [run.environment, run.config, run.end], body: () => reproduction(run)},
    {id: 'incidents', title: 'Warnings, bad samples, restarts', data: [run.warnings, run.bad_samples, run.events],
     body: () => {
       const wrong = incidents(run);
       return wrong.length ? wrong : el('p', {}, 'None.');
     }},
  ].filter(section => section && (!section.charts || section.charts.length > 0));
}

const shape = section => section.id + (section.charts ? ':' + section.charts.map(chart => chart.id).join() : '');

function build(sections) {
  for (const chart of shared.charts) whenSeen.unobserve(chart.element);
  shared.charts = [];
  document.getElementById('main').replaceChildren(...sections.map(section =>
    el('section', {id: section.id, 'aria-labelledby': 'h-' + section.id}, el('h2', {id: 'h-' + section.id},
      section.title), el('div', {class: section.charts ? 'charts' : 'body'},
      attempt(() => section.charts ? section.charts.map(addChart) : section.body())))));
  const first = document.querySelector('#main .charts');
  const kinds = Object.keys(glyphs).filter(kind => (kind !== 'snapshot' || shared.runs.length === 1) &&
    shared.runs.some(run => run.events.some(each => each.kind === kind)));
  if (first && kinds.length > 0)
    first.after(el('p', {class: 'muted glyphs'}, 'On the axes: ' +
                   kinds.map(kind => `${glyphs[kind]} ${eventNames[kind]}`).join(', ') + '.'));
  document.getElementById('contents').replaceChildren(...sections.map(section =>
    el('a', {href: '#' + section.id}, section.title.split(',')[0])));
}

let shown = [];

/** Draws the data, or what changed in it: zoom, cursor and choices stay. */
function update(data) {
  const {runs, differences} = data;
  labelRuns(runs);
  prepare(runs);
  document.getElementById('head').replaceChildren(
    ...[attempt(() => runs.length > 1 ? comparisonHead(runs) : headOf(runs[0]))].flat());
  const sections = sectionsOf(runs, differences || []);
  if (shown.map(shape).join(';') !== sections.map(shape).join(';')) {
    makeTools();
    build(sections);
  } else {
    const charts = new Map(shared.charts.map(chart => [chart.id, chart]));
    sections.forEach((section, i) => {
      if (section.charts)
        for (const chart of section.charts) charts.get(chart.id).set(chart);
      else if (JSON.stringify(section.data) !== shown[i].text)
        document.querySelector(`#${section.id} > .body`).replaceWith(
          el('div', {class: 'body'}, attempt(section.body)));
    });
  }
  for (const section of sections) section.text = JSON.stringify(section.data);
  shown = sections;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem('flowtrain-theme', theme); } catch { /* a page of a file may have no storage */ }
  for (const chart of shared.charts) chart.draw();
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

/** The tool bar: x axis, log y, smoothing, zoom, theme. */
function makeTools() {
  const axes = el('fieldset', {class: 'axes'}, el('legend', {class: 'unseen'}, 'x axis'), shared.axes.map(axis => {
    const input = el('input', {type: 'radio', name: 'axis', value: axis, onchange: () => setAxis(axis)});
    input.checked = axis === shared.axis;
    return el('label', {}, input, el('span', {}, axisNames[axis]));
  }));
  const log = el('input', {type: 'checkbox', onchange: () => {
    shared.log = log.checked;
    for (const chart of shared.charts) chart.draw();
  }});
  log.checked = shared.log;
  const smoothing = el('input', {type: 'range', min: 0, max: 25, step: 1, 'aria-label': 'smoothing', oninput: () => {
    shared.smoothing = Number(smoothing.value);
    smoothing.setAttribute('aria-valuetext', `${shared.smoothing} percent of the points`);
    for (const chart of shared.charts) chart.draw();
  }});
  smoothing.value = shared.smoothing;
  const theme = el('button', {type: 'button', class: 'theme', 'aria-label': 'dark or light', onclick: () => {
    setTheme(isDark() ? 'light' : 'dark');
  }}, '◐');
  document.getElementById('tools').replaceChildren(
    el('nav', {id: 'contents', 'aria-label': 'Sections'}),
    el('div', {class: 'bar', role: 'group', 'aria-label': 'Charts'}, axes,
       el('label', {class: 'check'}, log, 'log y'), el('label', {class: 'check smoothing'}, 'smooth', smoothing),
       el('button', {type: 'button', onclick: () => zoom(0.5)}, 'Zoom in'),
       el('button', {type: 'button', class: 'reset', onclick: () => setRange(null)}, 'Show all'), theme));
}

try {
  const theme = localStorage.getItem('flowtrain-theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* a page of a file may have no storage */ }
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of shared.charts) chart.draw();
});
// A page on paper has one width: all charts are drawn for it, also those that were not in view.
for (const [event, printing] of [['beforeprint', true], ['afterprint', false]])
  addEventListener(event, () => {
    document.body.classList.toggle('printing', printing);
    for (const chart of shared.charts) {
      if (!chart.plot) {
        chart.seen = true;
        chart.draw();
      }
      if (!chart.plot) continue;
      chart.plot.resize();
      // Readers of PDFs disagree about the strokes that Chromium would print; all of them show an image of them.
      for (const canvas of printing ? chart.area.querySelectorAll('canvas') : []) {
        const strokes = canvas.getContext('2d');
        strokes.putImageData(strokes.getImageData(0, 0, canvas.width, canvas.height), 0, 0);
      }
    }
  });
window.flowtrain = {update};
// The head of the page is painted first.
requestAnimationFrame(() => setTimeout(() => update(JSON.parse(document.getElementById('data').textContent))));
