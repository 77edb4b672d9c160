'use strict';
// The list of runs: asks for what has changed, and keeps which ones are chosen. The report's format.js comes before it.

(() => {
  const words = {running: '▶ running', done: '✓ done', stopped: '■ stopped early', interrupted: '‖ interrupted',
                 failed: '✗ failed'};
  const order = ['running', 'failed', 'interrupted', 'stopped', 'done'];
  // Each column sorts the rows by its key. A second click turns the order round.
  const keys = {
    run: run => run.name, status: run => order.indexOf(run.status), iteration: run => run.iteration,
    loss: run => run.loss === null ? Infinity : run.loss, best: run => run.best ? run.best.value : Infinity,
    'last line': run => -(run.written_s || 0),
  };
  const chosen = new Set();
  let tag = '', runs = [], sorting = {column: 'status', turned: false};

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const cell = (label, ...children) => {
    const made = element('td', {}, ...children);
    made.dataset.label = label;
    return made;
  };
  const pageOf = name => `/run/${address(name)}/`;

  function age(seconds) {
    if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s ago`;
    if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
    return seconds < 86400 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
  }

  function choice(run) {
    const box = element('input', {type: 'checkbox', name: 'run', value: run.name, checked: chosen.has(run.name)});
    box.setAttribute('aria-label', `compare ${run.name}`);
    box.addEventListener('change', () => {
      if (box.checked) chosen.add(run.name); else chosen.delete(run.name);
      showChosen();
    });
    return box;
  }

  function row(run) {
    const progress = count(run.iteration) + (run.last_iteration ? ` / ${count(run.last_iteration)}` : '');
    const part = run.last_iteration ? element('progress', {max: run.last_iteration, value: run.iteration}) : '';
    if (part) part.setAttribute('aria-hidden', 'true');
    const best = run.best ? [`${run.best.metric} ${metric(run.best.value)} `,
                             element('small', {}, `at ${count(run.best.iteration)}`)] : ['–'];
    const seen = cell('last line', '–');
    seen.classList.add('age');
    if (run.written_s) seen.dataset.written = run.written_s;
    return element('tr', {}, cell('compare', choice(run)),
      cell('run', element('a', {href: pageOf(run.name)}, run.name)),
      cell('status', element('span', {className: `status ${run.status}`}, words[run.status])),
      cell('iteration', progress, ' ', part), cell('loss', run.loss === null ? '–' : metric(run.loss)),
      cell('best', ...best), seen);
  }

  // Returns the runs whose names hold all words of the search, sorted; of equal ones the newest comes first.
  function shownRuns() {
    const words = document.getElementById('search').value.toLowerCase().split(/\s+/);
    const by = (key, turned) => (a, b) => {
      const x = key(a), y = key(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (turned ? -1 : 1);
    };
    const first = by(keys[sorting.column], sorting.turned), then = by(keys['last line'], false);
    return runs.filter(run => words.every(word => run.name.toLowerCase().includes(word)))
      .sort((a, b) => first(a, b) || then(a, b));
  }

  function showRuns() {
    const focused = document.activeElement && document.activeElement.name === 'run' && document.activeElement.value;
    document.getElementById('runs').replaceChildren(...shownRuns().map(row));
    const again = focused && document.querySelector(`input[value="${CSS.escape(focused)}"]`);
    if (again) again.focus();
    showAges();
  }

  function makeHeads() {
    for (const head of document.querySelectorAll('th[data-column]')) {
      const {column} = head.dataset;
      const button = element('button', {type: 'button', className: 'sort'}, column);
      button.addEventListener('click', () => {
        sorting = {column, turned: sorting.column === column && !sorting.turned};
        for (const each of document.querySelectorAll('th[data-column]')) each.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', sorting.turned ? 'descending' : 'ascending');
        showRuns();
      });
      head.replaceChildren(button);
    }
    document.getElementById('search').addEventListener('input', showRuns);
  }

  function showChosen() {
    const button = document.getElementById('chosen');
    button.disabled = chosen.size < 2;
    button.textContent = chosen.size < 2 ? 'Compare (choose two runs or more)' : `Compare ${chosen.size} runs`;
  }

  function showAges() {
    for (const seen of document.querySelectorAll('td[data-written]'))
      seen.textContent = age(Date.now() / 1000 - seen.dataset.written);
  }

  const say = text => {
    const state = document.getElementById('state');
    if (state.textContent !== text) state.textContent = text;
  };

  async function refresh() {
    try {
      const answer = await fetch('/runs', {headers: tag ? {'If-None-Match': tag} : {}, cache: 'no-store'});
      if (answer.status === 200) {
        tag = answer.headers.get('ETag');
        runs = (await answer.json()).runs;
        for (const name of chosen) if (!runs.some(run => run.name === name)) chosen.delete(name);
        showRuns();
        showChosen();
      } else if (answer.status !== 304) {
        throw new Error(`the server says ${answer.status}`);
      }
      const running = runs.filter(run => run.status === 'running').length;
      say(runs.length === 0 ? 'There is no run yet.' : `${runs.length} runs, ${running} running`);
    } catch {
      say('The server does not answer: values are old.');
    }
    showAges();
    setTimeout(refresh, document.hidden ? 10000 : 2000);
  }

  makeHeads();
  refresh();
})();
