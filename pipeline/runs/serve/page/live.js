'use strict';
// Keeps a page of runs up to date. Of one run it asks for new lines of metrics.jsonl; lines of training are added to
// the data, and after any other line, or many of these, all data is asked for again. Of several runs it asks for all.

(() => {
  const {runs, mark: firstMark} = JSON.parse(document.getElementById('live').textContent);
  const data = JSON.parse(document.getElementById('data').textContent);
  const query = runs.map(name => 'run=' + encodeURIComponent(name)).join('&');
  const everyMs = 1500, mostRows = 500;
  let mark = firstMark, tag = '', added = 0;

  const state = document.createElement('span');
  state.setAttribute('role', 'status');
  const all = document.createElement('a');
  all.href = '/';
  all.textContent = '← all runs';
  const bar = document.createElement('nav');
  bar.className = 'livebar';
  bar.append(all, state);
  document.body.prepend(bar);
  document.body.classList.add('live');

  const show = () => {
    window.flowtrain.update({...data});
    document.body.dataset.iteration = data.runs[0].status.iter;
  };
  const say = text => { if (state.textContent !== text) state.textContent = text; };

  const numberOrNull = value => typeof value === 'number' && Number.isFinite(value) ? value : null;

  /** Adds a line of training as a row of its own. False where that needs more than a row: a new field, say. */
  function addRow(table, line) {
    if (line.iter <= (table.iter[table.iter.length - 1] || 0)) return true;
    const known = name => name === 'kind' || name === 'iter' || name === 'epoch' || name in table.newest;
    if (!Object.entries(line).every(([name, value]) => known(name) || typeof value !== 'number')) return false;
    table.iter.push(line.iter);
    for (const [name, series] of Object.entries(table.series))
      for (const values of [series.mean, series.low, series.high])
        if (values) values.push(numberOrNull(line[name]));
    for (const name of ['elapsed_s', 'samples'])
      if (table[name]) table[name].push(numberOrNull(line[name]));
    for (const name of Object.keys(table.newest))
      if (name in line) table.newest[name] = line[name];
    return true;
  }

  /** True where all data has to be asked for. */
  function addLines(text) {
    const [run] = data.runs;
    let all = false;
    for (const each of text.split('\n')) {
      if (!each) continue;
      let line;
      try { line = JSON.parse(each); } catch { continue; }
      if (line.kind !== 'train') all = true;
      else if (!addRow(run.train, line) || ++added > mostRows) all = true;
      else run.status.iter = Math.max(run.status.iter, line.iter);
    }
    return all;
  }

  async function getAll() {
    const answer = await fetch(`/data?${query}`, {headers: tag ? {'If-None-Match': tag} : {}, cache: 'no-store'});
    if (answer.status === 304) return;
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    tag = answer.headers.get('ETag');
    const newest = await answer.json();
    data.runs = newest.runs;
    data.differences = newest.differences;
    added = 0;
    show();
  }

  async function getLines() {
    const answer = await fetch(`/lines?${query}&from=${mark}`, {cache: 'no-store'});
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const text = await answer.text();
    mark = answer.headers.get('X-Mark');
    const runs = answer.headers.get('X-Running') === '1';
    const changed = answer.headers.has('X-Restarted') || runs !== (data.runs[0].status.state === 'running');
    if (addLines(text) || changed) return getAll();
    if (text) show();
  }

  async function refresh() {
    try {
      await (runs.length === 1 ? getLines() : getAll());
      say('● live');
    } catch {
      say('The server does not answer: values are old.');
    }
    setTimeout(refresh, document.hidden ? 10 * everyMs : everyMs);
  }

  setTimeout(refresh, everyMs);
})();
