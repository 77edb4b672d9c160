// How to repeat a run, and what went wrong in it.

const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** A block of text with a button that copies it. */
const block = (title, text) => el('div', {class: 'block'}, el('div', {class: 'blockhead'}, el('h3', {}, title),
                                                              copyButton(text)), el('pre', {tabindex: 0}, text));

/** The stored configuration without the keys that have their defaults. */
function withoutDefaults(config) {
  const kept = [];
  let heading = null;
  for (const line of config.split('\n')) {
    if (line.startsWith('[')) {
      heading = line;
    } else if (line.trim() !== '' && !line.endsWith('# default')) {
      if (heading !== null) kept.push('', heading);
      heading = null;
      kept.push(line);
    }
  }
  return kept.join('\n').trim() + '\n';
}

/** The iteration that is worth repeating: the first that was not finite, else the last. */
function replayed(run) {
  const broken = run.events.find(event => event.kind === 'nonfinite');
  return broken ? broken.iter : run.status.iter;
}

function reproduction(run) {
  const env = run.environment || {};
  const commands = some([
    Array.isArray(env.command) && env.command.map(word => quoted(String(word))).join(' '),
    run.status.iter > 0 && `flowtrain replay ${quoted(run.path)} --iter ${replayed(run)} --loss`,
  ]);
  const gpus = Array.isArray(env.gpus) && env.gpus.length > 0 ? env.gpus.map(gpu => gpu.name).join(', ') : null;
  const facts = some([
    env.started && ['started', env.started],
    env.version && ['flowtrain', `${env.version}, commit ${env.revision}, ${env.build_type}, ${env.compiler}`],
    env.torch && ['LibTorch', env.torch],
    env.device && ['device', some([env.device, gpus]).join(', ')],
    env.cpu && ['processor', `${env.cpu}, ${env.cpu_cores_usable} of ${env.cpu_cores} cores`],
    isNumber(env.memory_bytes) && ['memory', megabytes(env.memory_bytes / 1e6)],
    env.os && ['system', `${env.os}, ${env.kernel}`],
    env.cuda && gpus && ['CUDA', some([env.cuda, env.cuda_driver && `driver ${env.cuda_driver}`,
                               env.cudnn && `cuDNN ${env.cudnn}`, env.nccl && `NCCL ${env.nccl}`]).join(', ')],
    run.end && run.end.params_xxh64 && ['hash of the parameters', run.end.params_xxh64],
    run.end && run.end.order_xxh64 && ['hash of the order', run.end.order_xxh64],
  ]);
  const libraries = Object.entries(env.libraries || {}).map(([name, version]) => `${name} ${version}`);
  if (libraries.length > 0) facts.push(['libraries', libraries.join(', ')]);
  const variables = Object.entries(env.environment || {}).map(([name, value]) => `${name}=${value}`);
  if (variables.length > 0) facts.push(['environment', variables.join(' ')]);
  const config = run.config ? withoutDefaults(run.config) : '';
  return some([
    commands.length > 0 && block('Commands', commands.join('\n')),
    config && block('Configuration, without defaults', config),
    run.config && el('details', {}, el('summary', {}, 'Whole configuration'), block('Whole configuration', run.config)),
    facts.length > 0 && el('dl', {class: 'facts'}, facts.map(([name, value]) =>
      [el('dt', {}, name), el('dd', {}, String(value))])),
    run.files.length > 0 && el('p', {class: 'files'}, 'Files: ', run.files.map((file, i) =>
      [i > 0 ? ' · ' : '', el('a', {href: address(run.link + file)}, file)])),
  ]);
}

/** What the net wrote at the newest validation (val.samples). */
function textsOf(run) {
  return [el('p', {}, `Validation at iteration ${count(run.samples.iter)}:`), table('Texts', ['prompt', 'text'],
    run.samples.samples.map(sample => [words(sample.prompt), words(sample.text)]))];
}

function incidents(run) {
  const starts = run.events.filter(event => event.kind === 'resume');
  const broken = run.events.filter(event => event.kind === 'nonfinite' || event.kind === 'skipped');
  const {warnings, bad_samples: bad} = run;
  return some([
    starts.length > 0 && el('p', {}, `Resumed ${starts.length === 1 ? 'once' : starts.length + ' times'}: ` +
                            'at iteration ' + starts.map(event => count(event.iter)).join(', ') + '.'),
    broken.length > 0 && el('ul', {}, broken.slice(0, 50).map(event => el('li', {}, eventText(event)))),
    bad.count > 0 && [el('h3', {}, `Bad samples (${count(bad.count)})`), table('Bad samples',
      ['sample', 'iteration', 'split', 'stage', 'reason', 'replaced by'], bad.lines.map(line =>
        [words(line.name ?? line.id), count(line.iter), words(line.split), words(line.stage), words(line.reason),
         words(line.substitute)]))],
    warnings.lines.length > 0 && [el('h3', {}, `Warnings and errors (${count(warnings.count)})`), table('Warnings',
      ['time', 'level', 'message', 'times'], warnings.lines.map(line =>
        [line.time, line.level, line.text, count(line.times)]))],
  ]);
}
