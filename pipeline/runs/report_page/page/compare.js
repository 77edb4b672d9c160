// Several runs over one another: a colour and a dash each.

const runLabel = run => run.label;

/** Folders that are called alike get their paths. */
function labelRuns(runs) {
  const base = run => run.path.replace(/\/+$/, '').split('/').pop() || run.path;
  const names = runs.map(base);
  const isOnly = name => names.indexOf(name) === names.lastIndexOf(name);
  runs.forEach((run, i) => { run.label = isOnly(names[i]) ? names[i] : run.path; });
}

function comparedSeries(runs, tableName, name, more = {}) {
  return some(runs.map(run => {
    const series = seriesOf(run, tableName, name, more);
    return series && {...series, name: run.label, label: run.label, colour: run.index, dash: run.index,
                      low: more.band ? series.low : null, high: more.band ? series.high : null};
  }));
}

const compared = (runs, id, title, tableName, name, more = {}, chart = {}) =>
  chartOf(id, title, comparedSeries(runs, tableName, name, more), {...chart, colours: false});

function comparedCharts(runs) {
  const names = (tableName, accepts) => [...new Set(runs.flatMap(run => namesOf(run, tableName, accepts)))];
  return {
    loss: some([
      compared(runs, 'loss', 'Training loss', 'train', 'loss', {smooth: 'alone'}, {reading: metric}),
      compared(runs, 'val-loss', 'Validation loss', 'val', 'loss', {points: true}, {reading: metric}),
    ]),
    metrics: names('val', name => name !== 'loss' && !name.includes('.')).map(name =>
      compared(runs, 'val-' + name, name, 'val', name, {points: true}, {reading: metric})).filter(Boolean),
    optimizer: some([
      compared(runs, 'lr', 'Learning rate', 'train', 'lr'),
      compared(runs, 'grad-norm', 'Gradient norm', 'train', 'grad_norm', {smooth: 'alone'}),
    ]),
    time: some([
      compared(runs, 'speed', 'Throughput', 'train', 'samples_per_s', {smooth: 'alone'},
               {unit: 'samples per second', from0: true}),
      compared(runs, 'data-wait', 'Waiting for data', 'train', 'data_wait', {smooth: 'alone'},
               {format: percent, from0: true, log: false}),
      compared(runs, 'step', 'Computing, per iteration', 'train', 'step_time', {smooth: 'alone'},
               {format: duration, from0: true}),
      compared(runs, 'memory', 'Host memory', 'train', 'host_memory_mb', {},
               {format: megabytes, from0: true, log: false}),
    ]),
  };
}

/** Switches a run off and on in all charts. */
function runSwitch(run) {
  const box = el('input', {type: 'checkbox', checked: true, onchange: () => toggleSeries(run.label)});
  box.checked = !shared.hidden.has(run.label);
  return el('label', {class: 'runkey'}, box, swatch({colour: run.index, dash: run.index}), ' ', run.label);
}

function comparisonTable(runs) {
  const metrics = [...new Set(runs.flatMap(run => Object.keys(run.extremes)))]
    .filter(name => name === 'loss' || !name.includes('.'));
  const bestValue = (run, name) => (run.extremes[name] || {}).best;
  const wins = name => {
    const values = runs.map(run => bestValue(run, name)).filter(isNumber);
    const lower = runs.some(run => (run.extremes[name] || {}).lower_wins);
    return values.length > 1 ? (lower ? Math.min(...values) : Math.max(...values)) : null;
  };
  const winners = metrics.map(wins);
  return table('Runs', ['run', 'status', 'iterations', 'time', ...metrics.map(name => `best ${name}`), 'samples/s',
                        'data wait'], runs.map(run => [
    runSwitch(run), statusText(run), count(run.status.iter), duration(secondsOf(run)),
    ...metrics.map((name, i) => {
      const value = bestValue(run, name);
      return isNumber(value) && value === winners[i] ? el('strong', {}, '★ ', metric(value)) : metric(value);
    }),
    number(speedOf(run)), percent(dataWaitOf(run)),
  ]));
}

function differenceTable(runs, differences) {
  if (differences.length === 0) return el('p', {}, 'The configurations are equal.');
  return table('Keys that differ', ['key', ...runs.map(runLabel)], differences.map(each =>
    [el('code', {}, each.key), ...each.values.map(value => value === null ? '–' : el('code', {}, value))]),
    {class: 'keys'});
}
